#include "family/density/density_sample.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/option_table.h"
#include "family/density/density_log_z.h"
#include "math/random.h"
#include "model/energy/autoregressive_energy.h"
#include "normalizer/quadrature/line_sum.h"
#include "normalizer/sampling/importance_log_z.h"
#include "normalizer/sampling/resampling.h"
#include "sampler/chain_draws.h"
#include "sampler/gibbs.h"
#include "sampler/hmc.h"
#include "sampler/langevin.h"

namespace selfnorm {
namespace {

constexpr uint64_t kPoolPerPoint = 20, kLeastPool = 20'000;
constexpr uint64_t kLeastDraws = 50;  // of every chain, so that they can be compared
constexpr double kLargestRHat = 1.05, kLeastEffective = 100;

uint64_t pool_size(const DensitySampleOptions& options, uint64_t points) {
  return options.pool > 0 ? options.pool : std::max(kLeastPool, kPoolPerPoint * points);
}

ChainDraws run_chains(const DensityModel& model, const std::string& method, const Points& start,
                      uint64_t draws, uint64_t seed) {
  const Energy& energy = *model.energy;
  if (method == "gibbs") return gibbs(energy, start, draws, GibbsOptions{}, seed);
  return method == "hmc" ? hmc(energy, start, draws, HmcOptions{}, seed)
                         : mala(energy, start, draws, MalaOptions{}, seed);
}

// `count` different draws, at even distances in time and from one chain after the other; count <= all draws.
std::vector<float> thinned(const ChainDraws& chains, uint64_t count) {
  std::vector<float> out;
  out.reserve(count * chains.dimension);
  const Points x = chains.points();
  for (uint64_t i = 0; i < count; ++i) {
    const auto row = x.row(i * chains.draws / count * chains.chains + i % chains.chains);
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

void sample_by_chains(const DensityModel& model, const DensitySampleOptions& options, DensitySample& out) {
  const uint64_t seed = RandomStream(options.seed, 1).next();
  const Resampled start = resample_spread(*model.energy, *model.proposal, options.chains,
                                          pool_size(options, options.chains), seed);
  out.pool = start.pool;
  out.pool_effective = start.pool_effective;
  out.pool_tail = start.pool_tail;
  const uint64_t draws = std::max(kLeastDraws, (options.count + options.chains - 1) / options.chains);
  const ChainDraws chains =
      run_chains(model, out.method, {start.rows.data(), options.chains, model.dimension()}, draws,
                 RandomStream(options.seed, 2).next());
  const ChainDiagnostics diagnostics = chain_diagnostics(chains);
  out.acceptance = chains.acceptance;
  out.r_hat = diagnostics.r_hat;
  out.effective = diagnostics.effective;
  for (double& n : out.effective) n = std::min(n, static_cast<double>(options.count));
  out.rows = thinned(chains, options.count);
}

// Whether the pool is worth as many draws as are wanted and as log Z needs; fills `out` in any case.
bool sample_by_resampling(const DensityModel& model, const DensitySampleOptions& options,
                          DensitySample& out) {
  Resampled drawn = resample(*model.energy, *model.proposal, options.count, pool_size(options, options.count),
                             RandomStream(options.seed, 0).next());
  out.rows = std::move(drawn.rows);
  out.pool = drawn.pool;
  out.pool_effective = drawn.pool_effective;
  out.pool_tail = drawn.pool_tail;
  const double wanted =
      std::max(DensityEvaluationOptions{}.least_effective, static_cast<double>(options.count));
  return drawn.pool_effective >= wanted && drawn.pool_tail <= kHeaviestTail;
}

}  // namespace

std::vector<std::string> sampling_methods() { return {"auto", "sir", "langevin", "hmc", "gibbs"}; }

OptionTable sample_option_table(DensitySampleOptions& o) {
  OptionTable table;
  table.add("number", &o.count, "Points (required)").at_least(1).short_form("-n");
  table
      .add("method", &o.method,
           "sir: resampled from the proposal by importance; langevin, hmc: chains on real data; gibbs: on "
           "levels; auto: sir where the proposal is good enough, else hmc or gibbs")
      .one_of(sampling_methods());
  table.add("chains", &o.chains, "langevin, hmc, gibbs: chains").in(1, 65536);
  table.add("pool", &o.pool, "sir: draws of the proposal; 0: 20 for every point, at least 20,000");
  table.add("seed", &o.seed, "Seed of everything random");
  return table;
}

void DensitySampleOptions::validate() const {
  DensitySampleOptions copy = *this;
  sample_option_table(copy).validate();
}

DensitySample sample_density_model(const DensityModel& model, const DensitySampleOptions& options) {
  options.validate();
  const Support support = model.energy->support();
  const bool is_levels = support.space == Support::Space::levels;
  if (options.method == "gibbs" && !is_levels)
    throw Error(
        "gibbs draws levels (binary or categorical data), and this model is none of them; use sir or hmc");
  if ((options.method == "hmc" || options.method == "langevin") && !support.is_real())
    throw Error(options.method +
                " draws real numbers, and this model is over levels or counts; use sir or gibbs");
  DensitySample out;
  out.method = options.method == "auto" ? "sir" : options.method;
  const auto* lines = dynamic_cast<const AutoregressiveEnergy*>(model.energy.get());
  const bool is_ancestral = lines != nullptr && out.method == "sir";
  if (is_ancestral) {
    out.method = "ancestral";
    out.rows.resize(options.count * model.dimension());
    sample_lines(*lines, options.seed, out.rows);
    out.pool_effective = static_cast<double>(options.count);
  }
  const bool is_enough = out.method == "sir" && sample_by_resampling(model, options, out);
  const bool has_chains = !is_ancestral && (support.is_real() || is_levels);
  if (options.method == "auto" && !is_enough && has_chains) out.method = is_levels ? "gibbs" : "hmc";
  if (out.method != "sir" && !is_ancestral) sample_by_chains(model, options, out);
  if (!model.standardisation.mean.empty()) {
    const std::vector<float> standardised = out.rows;
    model.standardisation.undo({standardised.data(), options.count, model.dimension()}, out.rows);
  }
  if (model.columns() != model.dimension() || model.geometry.sphere != PointGeometry::Sphere::none) {
    std::vector<float> rows(options.count * model.columns());
    for (uint64_t i = 0; i < options.count; ++i)
      model.geometry.outward(std::span(out.rows).subspan(i * model.dimension(), model.dimension()),
                             rows.data() + i * model.columns());
    out.rows = std::move(rows);
  }
  const auto bad = std::ranges::find_if(out.rows, [](float v) { return !std::isfinite(v); });
  if (bad != out.rows.end())
    throw_error(
        "point {} (from 0) that was drawn has {} in column {}, expected a finite number: the model is "
        "damaged, or its training diverged",
        (bad - out.rows.begin()) / model.columns(), *bad, (bad - out.rows.begin()) % model.columns());
  return out;
}

std::string sample_doubt(const DensitySample& sample, uint64_t count) {
  const auto points = static_cast<double>(count);
  const double wanted = std::min(kLeastEffective, points);
  if (!sample.r_hat.empty()) {
    const double r_hat = *std::ranges::max_element(sample.r_hat);
    const double effective = *std::ranges::min_element(sample.effective);
    if (r_hat > kLargestRHat)
      return worded(
          "the chains do not agree (R-hat {:.3f}, expected {} or less); use `method sir`, or more `chains`",
          r_hat, kLargestRHat);
    if (effective < wanted)
      return worded(
          "the chains are worth {:.1f} independent points, expected {:.0f} or more; draw more points, or use "
          "`method sir`",
          effective, wanted);
  } else if (sample.pool_effective < points) {
    return worded(
        "the pool is worth {:.1f} independent points, expected {} or more, so many are the same; give a "
        "larger `pool`, or use chains (`method hmc`, gibbs for levels)",
        sample.pool_effective, fmt::group_digits(count));
  }
  return "";
}

}  // namespace selfnorm
