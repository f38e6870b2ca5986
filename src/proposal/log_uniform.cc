#include "selfnorm/proposal/log_uniform.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace selfnorm {

LogUniform::LogUniform(std::span<const uint64_t> counts)
    : rank_(counts.size()),
      class_of_(counts.size()),
      log_range_(std::log(static_cast<double>(counts.size()) + 1)) {
  std::iota(class_of_.begin(), class_of_.end(), 0u);
  std::stable_sort(class_of_.begin(), class_of_.end(),
                   [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
  for (uint32_t r = 0; r < class_of_.size(); ++r) rank_[class_of_[r]] = r;
}

uint32_t LogUniform::sample(RandomStream& random) const {
  const double rank = std::floor(std::exp(random.uniform() * log_range_)) - 1;
  return class_of_[std::min(static_cast<size_t>(rank), class_of_.size() - 1)];
}

double LogUniform::log_prob(uint32_t k) const {
  return std::log(std::log1p(1 / (static_cast<double>(rank_[k]) + 1)) / log_range_);
}

}  // namespace selfnorm
