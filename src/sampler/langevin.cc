#include "sampler/langevin.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/parallel.h"
#include "math/random.h"
#include "sampler/hmc.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kLangevinCrfs = 32;  // a unit of parallel work

// One move of one chain; false and unmoved where it would leave the finite numbers.
bool move_chain(const BoxWalls& walls, double step, std::span<const float> slope, RandomStream& random,
                std::span<float> x) {
  std::vector<float> moved(x.size());
  bool is_finite = true;
  for (uint32_t j = 0; j < x.size(); ++j) {
    double velocity = step / 2 * static_cast<double>(slope[j]) + random.normal();
    moved[j] = walls.reflect(j, static_cast<double>(x[j]) + step * velocity, velocity);
    is_finite = is_finite && std::isfinite(moved[j]);
  }
  if (is_finite) std::copy(moved.begin(), moved.end(), x.begin());
  return is_finite;
}

}  // namespace

void LangevinOptions::validate() const {
  require_range(steps >= 1, "steps", static_cast<double>(steps), ">= 1");
  require_range(step > 0, "step", step, "> 0");
}

LangevinResult langevin(const Energy& energy, const LangevinOptions& options, uint64_t seed,
                        std::span<float> chains) {
  std::vector<double> value(chains.size() / energy.dimension());
  const auto slope = [&](const Points& x, std::span<float> dx) { energy.score_gradient(x, value, dx); };
  return langevin({slope, energy.support(), energy.dimension()}, options, seed, chains);
}

LangevinResult langevin(const ScoreSlope& score, const LangevinOptions& options, uint64_t seed,
                        std::span<float> chains) {
  options.validate();
  const uint32_t d = score.dimension;
  if (!score.support.is_real()) throw Error("langevin moves real numbers; use gibbs for levels");
  SELFNORM_CHECK(chains.size() % d == 0);
  const BoxWalls walls(score.support);
  const uint64_t n = chains.size() / d;
  std::vector<RandomStream> random;
  for (uint64_t i = 0; i < n; ++i) random.emplace_back(seed, i);
  std::vector<float> slope(chains.size());
  double moves = 0;
  for (uint64_t t = 0; t < options.steps; ++t) {
    score.slope({chains.data(), n, d}, slope);
    moves += ordered_sum(n, kLangevinCrfs, [&](size_t begin, size_t end) {
      double made = 0;
      for (size_t i = begin; i < end; ++i)
        made += move_chain(walls, options.step, std::span(slope).subspan(i * d, d), random[i],
                           chains.subspan(i * d, d));
      return made;
    });
  }
  const uint64_t evaluations = options.steps * n;
  return {n == 0 ? 1 : moves / static_cast<double>(evaluations), evaluations};
}

ChainDraws mala(const Energy& energy, const Points& start, uint64_t draws, const MalaOptions& options,
                uint64_t seed) {
  return hmc(energy, start, draws, {options.warmup, 1, options.step, options.acceptance, options.thin}, seed);
}

}  // namespace selfnorm
