#include "proposal/density/level_features.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {

LevelFeatures::LevelFeatures(const Support& support, uint32_t dimension)
    : levels_(support.levels), begin_{0} {
  SELFNORM_CHECK(!support.is_real() && !support.is_mixed());
  for (uint32_t j = 0; j < dimension; ++j)
    begin_.push_back(begin_.back() + (is_counts() ? 1 : levels_[j] - 1));
}

bool LevelFeatures::sparse(std::span<const float> row, std::vector<uint32_t>& column,
                           std::vector<float>& value) const {
  column.clear();
  value.clear();
  for (size_t j = 0; j < row.size(); ++j) {
    const float x = row[j];
    if (x == 0) continue;
    if (!(x > 0 && x == std::floor(x)) || (!is_counts() && x >= static_cast<float>(levels_[j]))) return false;
    column.push_back(static_cast<uint32_t>(begin_[j] + (is_counts() ? 0 : static_cast<size_t>(x) - 1)));
    value.push_back(is_counts() ? x : 1);
  }
  return true;
}

void LevelFeatures::dense(std::span<const float> row, float* out) const {
  std::fill_n(out, size(), 0.0f);
  for (size_t j = 0; j < row.size(); ++j) {
    if (row[j] == 0) continue;
    if (is_counts())
      out[begin_[j]] = row[j];
    else
      out[begin_[j] + static_cast<size_t>(row[j]) - 1] = 1;
  }
}

}  // namespace selfnorm
