#include "selfnorm/proposal/unigram.h"

#include <cmath>

#include "selfnorm/base/range.h"

namespace selfnorm {

Unigram::Unigram(std::span<const uint64_t> counts, double beta)
    : column_(counts.size()), log_prob_(counts.size()) {
  require_range(beta >= 0 && beta <= 1, "noise-power", beta, "a number in [0, 1]");
  const auto classes = static_cast<uint32_t>(counts.size());
  std::vector<double> mass(classes);  // in units of a column, 1/K
  double total = 0;
  for (uint32_t k = 0; k < classes; ++k)
    total += mass[k] = std::pow(static_cast<double>(counts[k]) + 1, beta);
  std::vector<uint32_t> small, large;
  for (uint32_t k = 0; k < classes; ++k) {
    log_prob_[k] = std::log(mass[k] / total);
    mass[k] *= static_cast<double>(classes) / total;
    (mass[k] < 1 ? small : large).push_back(k);
  }
  // A small class fills its column with the surplus of a large one. Rounding may leave a few of either, which
  // are whole columns but for that rounding.
  while (!small.empty() && !large.empty()) {
    const uint32_t poor = small.back(), rich = large.back();
    small.pop_back();
    column_[poor] = {.own = mass[poor], .other = rich};
    mass[rich] -= 1 - mass[poor];
    if (mass[rich] < 1) {
      large.pop_back();
      small.push_back(rich);
    }
  }
}

uint32_t Unigram::sample(RandomStream& random) const {
  const auto k = static_cast<uint32_t>(random.below(column_.size()));
  return random.uniform() < column_[k].own ? k : column_[k].other;
}

}  // namespace selfnorm
