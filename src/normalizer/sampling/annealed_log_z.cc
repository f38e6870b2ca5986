#include "normalizer/sampling/annealed_log_z.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/sigmoid.h"
#include "normalizer/sampling/annealing_schedule.h"
#include "normalizer/sampling/importance_log_z.h"
#include "normalizer/sampling/resampling.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Log weights of chains taken along `betas`; they end with a transition at the last but one.
template <class Chains>
std::vector<double> anneal(Chains& chains, const std::vector<double>& betas,
                           const AnnealingSchedule& schedule, double& acceptance) {
  std::vector<double> log_weight(chains.points().rows);
  double sum = 0;
  for (size_t k = 0; k + 1 < betas.size(); ++k) {
    if (k > 0) sum += schedule.move(chains, betas[k]);
    for (size_t i = 0; i < log_weight.size(); ++i)
      log_weight[i] += (betas[k + 1] - betas[k]) * chains.values().weight[i];
  }
  acceptance = sum / static_cast<double>(betas.size() - 2);
  return log_weight;
}

WeightSum sum_of(const std::vector<double>& log_weight) {
  WeightSum sum;
  for (const double w : log_weight) sum.add(w);
  if (!std::isfinite(sum.log_mean()))
    throw Error(
        "a score on the path is NaN or infinite; expected a finite number or -inf: the parameters of the "
        "energy are damaged, or training diverged");
  return sum;
}

// The root c of sum_i sigma(forward_i - c) = sum_j sigma(c + reverse_j) in [low, high], or the end nearest to
// it: the difference falls in c.
double bennett(const std::vector<double>& forward, const std::vector<double>& reverse, double low,
               double high) {
  const auto difference = [&](double c) {
    double sum = 0;
    for (size_t i = 0; i < forward.size(); ++i) sum += sigmoid(forward[i] - c) - sigmoid(c + reverse[i]);
    return sum;
  };
  for (double middle = (low + high) / 2; low < middle && middle < high; middle = (low + high) / 2)
    (difference(middle) > 0 ? low : high) = middle;
  return low;
}

template <class Chains>
AnnealedLogZ run(const AnnealingPath& path, const PossibleDraws& start, const AnnealedOptions& options,
                 uint64_t seed) {
  const auto stream = [seed](uint64_t purpose) { return RandomStream(seed, purpose).next(); };
  const uint32_t d = path.dimension();
  AnnealingSchedule schedule(options, d);
  Chains pilot(path, {start.rows.data(), options.pilot_chains, d}, stream(1));
  schedule.fit(pilot);

  AnnealedLogZ out;
  std::vector<float> x(start.rows.begin() + static_cast<std::ptrdiff_t>(options.pilot_chains * d),
                       start.rows.end());
  Chains up(path, {x.data(), options.chains, d}, stream(3));
  std::vector<double> betas = schedule.betas();
  const double log_share = start.share.log_mean();
  std::vector<double> forward = anneal(up, betas, schedule, out.acceptance);
  for (double& w : forward) w += log_share;
  const WeightSum forward_sum = sum_of(forward);

  const std::vector<uint64_t> kept = systematic_resampling(forward, options.chains, RandomStream(seed, 4));
  for (uint64_t i = 0; i < options.chains; ++i)
    std::copy_n(up.points().row(kept[i]).data(), d, x.data() + i * d);
  Chains down(path, {x.data(), options.chains, d}, stream(5));
  for (uint64_t t = 0; t < options.settling; ++t) schedule.move(down, 1);
  std::reverse(betas.begin(), betas.end());
  double unused = 0;
  std::vector<double> reverse = anneal(down, betas, schedule, unused);
  for (double& w : reverse) w -= log_share;
  const WeightSum reverse_sum = sum_of(reverse);

  out.forward = forward_sum.log_mean();
  out.forward_error = std::hypot(forward_sum.error(), start.share.error());
  out.forward_effective = forward_sum.effective();
  out.reverse = -reverse_sum.log_mean();
  out.reverse_error = std::hypot(reverse_sum.error(), start.share.error());
  out.reverse_effective = reverse_sum.effective();
  const double a = out.forward - std::hypot(forward_sum.reach(), start.share.reach());
  const double b = out.reverse + std::hypot(reverse_sum.reach(), start.share.reach());
  const double low = std::min(a, b), high = std::max(a, b);
  out.estimate = {"annealed",
                  bennett(forward, reverse, low, high),
                  low,
                  high,
                  std::min(out.forward_effective, out.reverse_effective),
                  start.share.count + pilot.evaluations() + up.evaluations() + down.evaluations()};
  return out;
}

}  // namespace

void AnnealedOptions::validate() const {
  require_range(chains >= 2, "chains", static_cast<double>(chains), ">= 2");
  require_range(temperatures >= 2, "temperatures", static_cast<double>(temperatures), ">= 2");
  require_range(pilot_chains >= 8, "pilot_chains", static_cast<double>(pilot_chains), ">= 8");
  require_range(leapfrog >= 1 && leapfrog <= 1024, "leapfrog", static_cast<double>(leapfrog), "1..1024");
  require_range(acceptance > 0 && acceptance < 1, "acceptance", acceptance, "between 0 and 1");
}

AnnealedLogZ annealed_log_z(const Energy& energy, const Density& start, const AnnealedOptions& options,
                            uint64_t seed) {
  options.validate();
  const AnnealingPath path(energy, start);
  if (!path.support().has_chains())
    throw Error(
        "annealed importance sampling moves real numbers or levels, not counts or both; use importance");
  const PossibleDraws draws =
      possible_draws(energy, start, options.pilot_chains + options.chains, RandomStream(seed, 0).next());
  return path.support().is_real() ? run<HmcChains>(path, draws, options, seed)
                                  : run<GibbsChains>(path, draws, options, seed);
}

}  // namespace selfnorm
