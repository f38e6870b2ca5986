#include "selfnorm/normalizer/hmc.h"

#include <fmt/format.h>

#include <cmath>

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/normalizer/coordinate_scales.h"
#include "selfnorm/normalizer/hmc_chains.h"
#include "selfnorm/normalizer/step_adaptation.h"

namespace selfnorm {
namespace {

constexpr uint64_t kScaleChains = 8;  // fewer starting points say nothing of the scales

// Step and scales over the transitions of the warm-up. Scales are estimated anew at the ends of three windows
// from the points of that window; the step is adapted to them from there on.
class Warmup {
 public:
  Warmup(const HmcOptions& options, const Points& start)
      : options_(options), scales_(start.columns), adaptation_(options.step, options.acceptance) {
    scale_.assign(start.columns, 1.0);
    if (start.rows >= kScaleChains) {
      scales_.add(start);
      scale_ = scales_.scales();
      scales_ = CoordinateScales(start.columns);
    }
  }

  HmcChains::Move move() const { return {adaptation_.step(), options_.leapfrog, scale_}; }
  HmcChains::Move settled() const { return {adaptation_.average(), options_.leapfrog, scale_}; }

  void observe(uint64_t transition, double acceptance, const Points& points) {
    adaptation_.observe(acceptance);
    scales_.add(points);
    const uint64_t n = options_.warmup;
    if (transition != n / 5 && transition != 2 * n / 5 && transition != 7 * n / 10) return;
    scale_ = scales_.scales();
    scales_ = CoordinateScales(points.columns);
    adaptation_ = StepAdaptation(adaptation_.average(), options_.acceptance);
  }

 private:
  const HmcOptions& options_;
  CoordinateScales scales_;
  StepAdaptation adaptation_;
  std::vector<double> scale_;
};

void check_start(const AnnealingPath& path, const Points& start, const HmcChains& chains) {
  for (uint64_t i = 0; i < start.rows; ++i) {
    if (contains(path.support(), start.row(i)) && std::isfinite(chains.values().at(1, i))) continue;
    throw Error(fmt::format(
        "chain {} starts at a point with the score {}; expected a point inside the support with a "
        "finite score: start at points drawn by sir",
        i, chains.values().at(1, i)));
  }
}

}  // namespace

void HmcOptions::validate() const {
  require_range(leapfrog >= 1 && leapfrog <= 1024, "leapfrog", static_cast<double>(leapfrog), "1..1024");
  require_range(step > 0, "step", step, "> 0");
  require_range(acceptance > 0 && acceptance < 1, "acceptance", acceptance, "between 0 and 1");
  require_range(thin >= 1, "thin", static_cast<double>(thin), ">= 1");
}

ChainDraws hmc(const Energy& energy, const Points& start, uint64_t draws, const HmcOptions& options,
               uint64_t seed) {
  options.validate();
  if (!energy.support().is_real()) throw Error("hmc and langevin move real numbers; use gibbs for levels");
  if (start.rows == 0 || start.columns != energy.dimension())
    throw Error(fmt::format("found {} chains of {} coordinates; expected at least 1 of {}", start.rows,
                            start.columns, energy.dimension()));
  const AnnealingPath path(energy);
  HmcChains chains(path, start, seed);
  check_start(path, start, chains);
  Warmup warmup(options, start);
  for (uint64_t t = 1; t <= options.warmup; ++t) {
    const double acceptance = chains.transition(1, warmup.move());
    warmup.observe(t, acceptance, chains.points());
  }
  const HmcChains::Move move = warmup.settled();
  ChainDraws out{start.rows, draws, start.columns, {}, 0, move.step, 0};
  out.rows.reserve(draws * start.size());
  for (uint64_t t = 0; t < draws; ++t) {
    for (uint64_t k = 0; k < options.thin; ++k) out.acceptance += chains.transition(1, move);
    const Points x = chains.points();
    out.rows.insert(out.rows.end(), x.data, x.data + x.size());
  }
  if (draws > 0) out.acceptance /= static_cast<double>(draws * options.thin);
  out.evaluations = chains.evaluations();
  return out;
}

}  // namespace selfnorm
