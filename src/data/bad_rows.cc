#include "bad_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "selfnorm/base/error.h"

namespace selfnorm {

void BadRows::add(uint64_t number, const std::string& message) {
  if (rows_.size() < tolerance_) {
    rows_.push_back({number, message});
    return;
  }
  std::string what = place_ == Place::row ? fmt::format("row {}: {}", number, message) : message;
  if (tolerance_ > 0)
    what += fmt::format(" (bad row {}, where {} may be skipped; the first is {} {})", rows_.size() + 1,
                        tolerance_, place_ == Place::row ? "row" : "line", rows_[0].line);
  throw DataError(file_, number, what);
}

std::vector<BadRow> BadRows::take() {
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const BadRow& a, const BadRow& b) { return a.line < b.line; });
  return std::move(rows_);
}

RowNumbers numbers_without(const std::vector<uint64_t>& left_out) {
  RowNumbers numbers;
  for (size_t i = 0; i < left_out.size(); ++i) numbers.skip(left_out[i] - i);
  return numbers;
}

}  // namespace selfnorm
