#include "sampler/hmc.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "math/parallel.h"

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
    throw_error(
        "chain {} starts at a point with the score {}; expected a point inside the support with a finite "
        "score: start at points drawn by sir",
        i, chains.values().at(1, i));
  }
}

constexpr double kGamma = 0.05, kDelay = 10, kKappa = 0.75;

constexpr size_t kHmcCrfs = 32;  // a unit of parallel work

template <class Body>
void each_chain(size_t chains, const Body& body) {
  parallel_ranges(chains, kHmcCrfs, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) body(i);
  });
}

double half_square(std::span<const double> p) {
  double sum = 0;
  for (const double v : p) sum += v * v;
  return sum / 2;
}

template <class T>
void copy_row(const std::vector<T>& from, std::vector<T>& to, size_t i, size_t d) {
  if (!from.empty()) std::copy_n(from.data() + i * d, d, to.data() + i * d);
}

constexpr float kFar = std::numeric_limits<float>::infinity();

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
    throw_error("found {} chains of {} coordinates; expected at least 1 of {}", start.rows, start.columns,
                energy.dimension());
  const AnnealingPath path(energy);
  HmcChains chains(path, start, seed);
  check_start(path, start, chains);
  Warmup warmup(options, start);
  for (uint64_t t = 1; t <= options.warmup; ++t) {
    const double acceptance = chains.transition(1, warmup.move());
    warmup.observe(t, acceptance, chains.points());
  }
  const HmcChains::Move move = warmup.settled();
  ChainDraws out = draw_chains(chains, draws, options.thin, [&] { return chains.transition(1, move); });
  out.step = move.step;
  return out;
}

std::vector<double> CoordinateScales::scales() const {
  std::vector<double> out(square_);
  for (double& s : out) s = count_ < 2 ? 0 : std::sqrt(s / static_cast<double>(count_ - 1));
  const double largest = *std::max_element(out.begin(), out.end());
  for (double& s : out) s = largest > 0 ? std::max(s, 1e-6 * largest) : 1;
  return out;
}

StepAdaptation::StepAdaptation(double first_step, double wanted_acceptance)
    : mu_(std::log(10 * first_step)),
      wanted_(wanted_acceptance),
      step_(first_step),
      log_average_(std::log(first_step)) {}

void StepAdaptation::observe(double acceptance) {
  const auto t = static_cast<double>(++t_);
  const double share = 1 / (t + kDelay), recent = std::pow(t, -kKappa);
  deviation_ = (1 - share) * deviation_ + share * (wanted_ - acceptance);
  const double log_step = mu_ - std::sqrt(t) / kGamma * deviation_;
  log_average_ = recent * log_step + (1 - recent) * log_average_;
  step_ = std::exp(log_step);
}

double StepAdaptation::average() const { return std::exp(log_average_); }

HmcChains::HmcChains(const AnnealingPath& path, const Points& start, uint64_t seed)
    : path_(path),
      walls_(path.support()),
      chains_(start.rows),
      dimension_(path.dimension()),
      x_(start.data, start.data + start.size()),
      momentum_(x_.size()),
      hamiltonian_(chains_),
      acceptance_(chains_),
      is_lost_(chains_),
      lengths_(seed, chains_) {
  for (uint64_t i = 0; i < chains_; ++i) random_.emplace_back(seed, i);
  path_.evaluate_gradient(points(), values_);
  evaluations_ = chains_;
}

void HmcChains::kick(double beta, const Move& move, size_t i) {
  const PathValues& at = proposed_values_;
  for (size_t j = 0, k = i * dimension_; j < dimension_; ++j, ++k) {
    const double slope = (at.start_gradient.empty() ? 0 : at.start_gradient[k]) +
                         (beta == 0 ? 0 : beta * at.weight_gradient[k]);
    momentum_[k] += move.step / 2 * move.scale[j] * slope;
  }
}

void HmcChains::drift(const Move& move, size_t i) {
  if (is_lost_[i]) return;
  for (uint32_t j = 0; j < dimension_; ++j) {
    const size_t k = i * dimension_ + j;
    proposed_[k] = walls_.reflect(
        j, static_cast<double>(proposed_[k]) + move.step * move.scale[j] * momentum_[k], momentum_[k]);
    if (!std::isfinite(proposed_[k])) is_lost_[i] = 1;
  }
  if (is_lost_[i]) copy_row(x_, proposed_, i, dimension_);
}

double HmcChains::transition(double beta, const Move& move) {
  const size_t d = dimension_;
  const auto momentum = [&](size_t i) { return std::span(momentum_).subspan(i * d, d); };
  proposed_ = x_;
  proposed_values_ = values_;
  each_chain(chains_, [&](size_t i) {
    for (double& p : momentum(i)) p = random_[i].normal();
    hamiltonian_[i] = half_square(momentum(i)) - values_.at(beta, i);
    is_lost_[i] = 0;
  });
  const uint64_t length = 1 + lengths_.below(move.leapfrog);
  for (uint64_t l = 0; l < length; ++l) {
    each_chain(chains_, [&](size_t i) {
      kick(beta, move, i);
      drift(move, i);
    });
    path_.evaluate_gradient({proposed_.data(), chains_, dimension_}, proposed_values_);
    each_chain(chains_, [&](size_t i) { kick(beta, move, i); });
  }
  evaluations_ += length * chains_;
  each_chain(chains_, [&](size_t i) {
    const double rise = half_square(momentum(i)) - proposed_values_.at(beta, i) - hamiltonian_[i];
    const bool is_stuck = is_lost_[i] || std::isinf(hamiltonian_[i]) || std::isnan(rise);
    acceptance_[i] = is_stuck ? 0 : std::exp(-std::max(0.0, rise));
    if (random_[i].uniform() >= acceptance_[i]) return;
    copy_row(proposed_, x_, i, d);
    copy_row(proposed_values_.start, values_.start, i, 1);
    copy_row(proposed_values_.weight, values_.weight, i, 1);
    copy_row(proposed_values_.start_gradient, values_.start_gradient, i, d);
    copy_row(proposed_values_.weight_gradient, values_.weight_gradient, i, d);
  });
  double sum = 0;
  for (const double a : acceptance_) sum += a;
  return sum / static_cast<double>(chains_);
}

float BoxWalls::reflect(uint32_t j, double target, double& velocity) const {
  if (support_.lower.empty() || !std::isfinite(target)) return static_cast<float>(target);
  const double low = support_.lower[j], high = support_.upper[j];
  bool is_turned = false;
  if (!support_.wraps.empty() && support_.wraps[j]) {
    target -= (high - low) * std::floor((target - low) / (high - low));
  } else if (std::isfinite(low) && std::isfinite(high)) {
    const double width = high - low;
    double way = std::fmod(target - low, 2 * width);
    if (way < 0) way += 2 * width;
    is_turned = way > width;
    target = low + (is_turned ? 2 * width - way : way);
  } else if (target < low || target > high) {
    is_turned = true;
    target = 2 * (target < low ? low : high) - target;
  }
  if (is_turned) velocity = -velocity;
  const auto x = static_cast<float>(target);
  if (static_cast<double>(x) < low) return std::nextafter(x, kFar);
  if (static_cast<double>(x) > high) return std::nextafter(x, -kFar);
  return x;
}

}  // namespace selfnorm
