#include "normalizer/sampling/importance_log_z.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/range.h"
#include "math/special_functions.h"
#include "normalizer/sampling/pareto_tail.h"
#include "normalizer/sampling/weighted_draws.h"
#include "selfnorm/error.h"

namespace selfnorm {

void WeightSum::add(double log_weight) {
  first.add(log_weight);
  second.add(2 * log_weight);
  ++count;
}

double WeightSum::log_mean() const { return first.value() - std::log(static_cast<double>(count)); }

double WeightSum::effective() const {
  return first.sum == 0 ? 0 : std::exp(2 * first.value() - second.value());
}

double WeightSum::error() const {
  const auto n = static_cast<double>(count);
  return std::sqrt(std::max(0.0, n / effective() - 1) / (n - 1));
}

double WeightSum::reach() const {
  return student_t_quantile(0.975, std::max(1.0, effective() - 1)) * error();
}

namespace {

constexpr double kLargestShape = 0.9;

// log(1 + w_max / ((1 - k) sum w)); `first.sum` is sum w / w_max.
double log_beyond(const WeightSum& sum, double shape) {
  return shape > 0 ? std::log1p(1 / ((1 - std::min(shape, kLargestShape)) * sum.first.sum)) : 0;
}

}  // namespace

LogZEstimate importance_log_z(const Energy& energy, const Density& proposal, uint64_t samples,
                              uint64_t seed) {
  require_range(samples >= 2, "samples", static_cast<double>(samples), ">= 2");
  const WeightedDraws draws(energy, proposal, samples, seed);
  WeightSum sum;
  ParetoTail tail(samples);
  WeightedDraws::Block block;
  for (uint64_t b = 0; b < draws.blocks(); ++b) {
    draws.draw(b, block);
    for (const double w : block.log_weight) {
      sum.add(w);
      tail.add(w);
    }
  }
  if (sum.effective() == 0)
    throw Error(
        fmt::format("none of {} draws of the proposal is possible under the energy; expected a proposal "
                    "that covers it: fit one to the data",
                    samples));
  const double value = sum.log_mean(), reach = sum.reach(), shape = tail.shape();
  const double high = value + reach + log_beyond(sum, shape);
  return {"importance", value, value - reach, high, sum.effective(), samples, shape};
}

}  // namespace selfnorm
