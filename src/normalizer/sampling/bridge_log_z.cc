#include "normalizer/sampling/bridge_log_z.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/random.h"
#include "normalizer/sampling/resampling.h"
#include "sampler/gibbs.h"
#include "sampler/hmc.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr int kBridgeIterations = 200;
constexpr double kBridgeStill = 1e-10;
constexpr uint64_t kBridgePool = 20'000;
constexpr double kNormalQuantile = 1.959963984540054;

// log mean exp of values, and the relative variance of that mean as if they were independent.
struct LogMean {
  double value = 0, relative = 0;
};
LogMean log_mean(std::span<const double> log_value) {
  LogSumExp one, two;
  for (const double v : log_value) {
    one.add(v);
    two.add(2 * v);
  }
  const double log_n = std::log(static_cast<double>(log_value.size()));
  const double value = one.value() - log_n;
  return {value, std::max(0.0, std::expm1(two.value() - log_n - 2 * value))};
}

// log(s1 e^a + s2)
double log_denominator(double log_s1, double log_s2, double a) {
  LogSumExp sum;
  sum.add(log_s1 + a);
  sum.add(log_s2);
  return sum.value();
}

std::vector<double> log_weights(const AnnealingPath& path, const Density& proposal, const Points& x) {
  std::vector<double> log_q, weight(x.rows);
  if (path.needs_log_q()) {
    log_q.resize(x.rows);
    density_log_prob(proposal, x, log_q);
  }
  path.weights(x, log_q, weight);
  for (const double w : weight)
    if (std::isnan(w) || w == kInfinity)
      throw Error("a score is not finite; the parameters of the energy are damaged, or training diverged");
  return weight;
}

}  // namespace

Bridge bridge_of(std::span<const double> of_proposal, std::span<const double> of_model,
                 double effective_model) {
  const double n2 = static_cast<double>(of_proposal.size()), total = effective_model + n2;
  const double log_s1 = std::log(effective_model / total), log_s2 = std::log(n2 / total);
  std::vector<double> top(of_proposal.size()), bottom(of_model.size());
  Bridge out{log_mean(of_proposal).value, 0};
  for (int i = 0; i < kBridgeIterations; ++i) {
    for (size_t j = 0; j < top.size(); ++j)
      top[j] = of_proposal[j] - log_denominator(log_s1, log_s2, of_proposal[j] - out.log_z);
    for (size_t j = 0; j < bottom.size(); ++j)
      bottom[j] = -log_denominator(log_s1, log_s2, of_model[j] - out.log_z);
    const LogMean above = log_mean(top), below = log_mean(bottom);
    const double next = above.value - below.value, moved = std::abs(next - out.log_z);
    out = {next, std::sqrt(above.relative / n2 + below.relative / effective_model)};
    if (!(moved > kBridgeStill)) break;
  }
  return out;
}

LogZEstimate bridge_log_z(const Energy& energy, const Density& proposal, const BridgeOptions& options,
                          uint64_t seed) {
  if (!energy.support().has_chains())
    throw Error(
        "bridge sampling needs draws of the model by chains, which there are none of over counts and mixed "
        "tables; use importance");
  const uint32_t d = energy.dimension();
  const AnnealingPath path(energy, proposal);
  std::vector<float> rows(options.draws * d);
  sample_density(proposal, RandomStream(seed, 1).next(), rows, {});
  const std::vector<double> of_proposal = log_weights(path, proposal, {rows.data(), options.draws, d});
  const Resampled start =
      resample_spread(energy, proposal, options.chains, kBridgePool, RandomStream(seed, 2).next());
  const Points first{start.rows.data(), options.chains, d};
  const uint64_t chain_seed = RandomStream(seed, 3).next();
  const ChainDraws chains = energy.support().is_real() ? hmc(energy, first, options.each, {}, chain_seed)
                                                       : gibbs(energy, first, options.each, {}, chain_seed);
  const std::vector<double> of_model = log_weights(path, proposal, chains.points());
  const ChainDiagnostics diagnostics = chain_diagnostics(chains);
  const double effective =
      std::clamp(diagnostics.least_effective(), 1.0, static_cast<double>(of_model.size()));
  const Bridge bridge = bridge_of(of_proposal, of_model, effective);
  if (!std::isfinite(bridge.log_z)) throw Error("bridge sampling found no log Z: all weights are 0");
  const double reach = kNormalQuantile * bridge.error;
  return {"bridge",
          bridge.log_z,
          bridge.log_z - reach,
          bridge.log_z + reach,
          std::min(effective, 1 / std::max(bridge.error * bridge.error, 1e-12)),
          options.draws + chains.evaluations,
          diagnostics.worst_r_hat() - 1};
}

}  // namespace selfnorm
