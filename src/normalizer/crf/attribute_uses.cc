#include "normalizer/crf/attribute_uses.h"

#include <algorithm>

#include "math/crf_kernels.h"
#include "math/process/shared_loop.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kUnitUses = 8192;
constexpr uint64_t kTerms = 1024;  // summed in Real before they join a sum in double

}  // namespace

AttributeUses::AttributeUses(const AttributeRows& rows, Range range, uint64_t attributes) {
  const uint64_t first = rows.begin[range.begin], last = rows.begin[range.end];
  SELFNORM_CHECK(range.size() < UINT32_MAX);
  std::vector<uint64_t> place(attributes);
  for (uint64_t i = first; i < last; ++i) {
    SELFNORM_CHECK(rows.attribute[i] < attributes);
    ++place[rows.attribute[i]];
  }
  uint64_t uses = 0;
  for (uint64_t a = 0; a < attributes; ++a) {
    if (place[a] == 0) continue;
    if (unit_.empty() || uses - begin_[unit_.back()] >= kUnitUses) unit_.push_back(attribute_.size());
    attribute_.push_back(static_cast<uint32_t>(a));
    begin_.push_back(uses);
    uses += place[a];
    place[a] = begin_.back();
  }
  begin_.push_back(uses);
  unit_.push_back(attribute_.size());
  row_.resize(uses);
  if (!rows.value.empty()) value_.resize(uses);
  for (uint64_t row = range.begin; row < range.end; ++row) {
    for (uint64_t i = rows.begin[row]; i < rows.begin[row + 1]; ++i) {
      const uint64_t at = place[rows.attribute[i]]++;
      row_[at] = static_cast<uint32_t>(row - range.begin);
      if (!value_.empty()) value_[at] = rows.value[i];
    }
  }
}

template <class Real>
void AttributeUses::add_gradient(const std::vector<Real>& d, size_t width, Real* gradient) const {
  const auto uses = [&](uint64_t begin, uint64_t end) {
    return RowList{row_.data() + begin, value_.empty() ? nullptr : value_.data() + begin, end - begin,
                   row_.size() - begin};
  };
  const auto add_unit = [&](size_t unit) {
    std::vector<Real> part;
    std::vector<double> sum;
    for (uint64_t a = unit_[unit]; a < unit_[unit + 1]; ++a) {
      Real* out = gradient + attribute_[a] * width;
      if (begin_[a + 1] - begin_[a] <= kTerms) {
        add_rows(uses(begin_[a], begin_[a + 1]), d.data(), width, out);
        continue;
      }
      sum.assign(width, 0);
      for (uint64_t i = begin_[a]; i < begin_[a + 1]; i += kTerms) {
        part.assign(width, 0);
        add_rows(uses(i, std::min(i + kTerms, begin_[a + 1])), d.data(), width, part.data());
        for (size_t k = 0; k < width; ++k) sum[k] += static_cast<double>(part[k]);
      }
      for (size_t k = 0; k < width; ++k) out[k] = static_cast<Real>(static_cast<double>(out[k]) + sum[k]);
    }
  };
  const size_t units = unit_.size() - 1;
  if (Communicator* const all = sharing(units))
    share_units(*all, units, add_unit, shared_array(*all, units, gradient, [&](size_t unit) {
      return unit < units ? attribute_[unit_[unit]] * width : (attribute_.back() + 1) * width;
    }));
  else
    parallel_units(units, add_unit);
}

template void AttributeUses::add_gradient(const std::vector<float>&, size_t, float*) const;
template void AttributeUses::add_gradient(const std::vector<double>&, size_t, double*) const;

}  // namespace selfnorm
