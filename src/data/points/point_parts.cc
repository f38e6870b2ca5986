#include "data/points/point_parts.h"

#include <algorithm>

#include "data/string_index.h"
#include "selfnorm/error.h"

namespace selfnorm {

void PointSubset::read(std::span<const uint64_t> rows, std::span<float> out) const {
  std::vector<uint64_t> there(rows.size());
  std::transform(rows.begin(), rows.end(), there.begin(), [this](uint64_t i) { return rows_[i]; });
  whole_.read(there, out);
}

std::string PointSubset::fingerprint() const {
  const std::string_view bytes(reinterpret_cast<const char*>(rows_.data()), rows_.size() * sizeof(uint64_t));
  return whole_.fingerprint() + std::to_string(hash_bytes(bytes));
}

JoinedPoints::JoinedPoints(std::unique_ptr<PointSource> first, std::unique_ptr<PointSource> second)
    : first_(std::move(first)), second_(std::move(second)) {
  SELFNORM_CHECK(first_->columns() == second_->columns());
}

void JoinedPoints::read(std::span<const uint64_t> rows, std::span<float> out) const {
  const uint64_t border = first_->rows();
  for (size_t begin = 0; begin < rows.size();) {
    const bool is_first = rows[begin] < border;
    std::vector<uint64_t> there;
    for (size_t i = begin; i < rows.size() && (rows[i] < border) == is_first; ++i)
      there.push_back(is_first ? rows[i] : rows[i] - border);
    (is_first ? first_ : second_)->read(there, out.subspan(begin * columns(), there.size() * columns()));
    begin += there.size();
  }
}

}  // namespace selfnorm
