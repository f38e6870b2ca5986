#include "audit/bounds/gap_bounds.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr size_t kScan = 32;          // points of the first scan of the path, and of each refinement
constexpr double kResolution = 1e-9;  // of t
constexpr double kOneSize = 1e-9;     // how far log sum h may differ between examples

double log_h(const ScoredExample& e, size_t y) { return e.log_carrier.empty() ? 0 : e.log_carrier[y]; }

// One Sums per block of examples, merged in the order of the blocks.
template <class Sums, class Add>
Sums sum_over(const ScoredExamples& examples, const Sums& zero, const Add& add) {
  const uint64_t n = examples.examples(), block = examples.block();
  std::vector<Sums> parts((n + block - 1) / block, zero);
  parallel_ranges(n, block, [&](size_t begin, size_t end) {
    Sums& part = parts[begin / block];
    examples.visit(begin, end, [&](uint64_t i, const ScoredExample& e) { add(part, i, e); });
  });
  Sums all = zero;
  for (const Sums& part : parts) all += part;
  return all;
}

// Weighted sums over examples of what the bounds are made of.
struct GapSums {
  double weight = 0, nll = 0, base = 0, kl = 0, slope = 0, square = 0, curvature = 0;
  double smallest_g = kInfinity, largest_ratio = 0;
  uint64_t ties = 0;

  GapSums& operator+=(const GapSums& o) {
    weight += o.weight;
    nll += o.nll;
    base += o.base;
    kl += o.kl;
    slope += o.slope;
    square += o.square;
    curvature += o.curvature;
    smallest_g = std::min(smallest_g, o.smallest_g);
    largest_ratio = std::max(largest_ratio, o.largest_ratio);
    ties += o.ties;
    return *this;
  }
};

size_t best_output(const ScoredExample& e) {
  size_t best = e.target;
  for (size_t y = 0; y < e.scores.size(); ++y) {
    if (log_h(e, y) > -kInfinity && e.scores[y] > e.scores[best]) best = y;
  }
  return best;
}

void add_example(GapSums& sums, const ScoredExample& e, double m, double alpha) {
  const double a = log_normalizer(e, 1), score = e.scores[e.target];
  const size_t best = best_output(e);
  double expected = 0, curvature = 0, ratio = 0, smallest_g = kInfinity;
  for (size_t y = 0; y < e.scores.size(); ++y) {
    if (log_h(e, y) == -kInfinity) continue;
    expected += std::exp(log_h(e, y) + e.scores[y] - a) * e.scores[y];
    if (y == best) continue;
    const double g = e.scores[best] - e.scores[y], relative = log_h(e, y) - log_h(e, best);
    curvature += g * g * std::exp(relative - alpha * g);
    ratio += std::exp(relative);
    smallest_g = std::min(smallest_g, g);
  }
  sums.weight += e.weight;
  sums.nll += e.weight * (a - score - log_h(e, e.target));
  sums.base += e.weight * (m - log_h(e, e.target));
  sums.kl += e.weight * (expected - a + m);
  sums.slope += e.weight * (score - expected);
  sums.square += e.weight * (a - m) * (a - m);
  sums.curvature += e.weight * curvature;
  sums.smallest_g = std::min(sums.smallest_g, smallest_g);
  sums.largest_ratio = std::max(sums.largest_ratio, ratio);
  sums.ties += smallest_g == 0;
}

void check_example(uint64_t i, const ScoredExample& e, const GapBounds& bounds) {
  if (std::abs(log_normalizer(e, 0) - bounds.m) > kOneSize * (1 + std::abs(bounds.m))) {
    throw_error(
        "example {} (counted from 0) has {} alternatives, the first one has {:.0f}; the bounds are about one "
        "m = log K, so all groups need the same size",
        i, e.scores.size(), std::exp(bounds.m));
  }
  const double limit = bounds.norm * bounds.radius * (1 + 1e-6) + 1e-12;
  for (const double s : e.scores) {
    if (std::abs(s) <= limit) continue;
    throw_error("example {} (counted from 0): score {} is beyond |eta| R = {}; expected R >= sup |T|", i, s,
                bounds.norm * bounds.radius);
  }
  require_range(e.weight >= 0, "weight", e.weight, "a number >= 0");
}

// Weighted sums of -log p and (A - m)^2 at several t eta.
struct PathSums {
  double weight = 0;
  std::vector<double> nll, square;

  PathSums& operator+=(const PathSums& o) {
    weight += o.weight;
    for (size_t j = 0; j < nll.size(); ++j) {
      nll[j] += o.nll[j];
      square[j] += o.square[j];
    }
    return *this;
  }
};

double m_of(const ScoredExamples& examples) {
  double m = 0;
  examples.visit(0, 1, [&](uint64_t, const ScoredExample& e) { m = log_normalizer(e, 0); });
  return m;
}

// V_m(t eta) is not monotone in t, so the interval is scanned from above, and the gap between the first
// feasible point and the infeasible one above it scanned again.
void find_path_bound(const ScoredExamples& examples, double delta, GapBounds& bounds) {
  double low = bounds.alpha, high = 1;
  PathPoint at_low = path_points(examples, std::span(&low, 1))[0];
  while (high - low > kResolution) {
    std::vector<double> scales(kScan);
    for (size_t j = 0; j < kScan; ++j) {
      scales[j] = high - (high - low) * static_cast<double>(j + 1) / static_cast<double>(kScan + 1);
    }
    const std::vector<PathPoint> points = path_points(examples, scales);
    const auto feasible = std::ranges::find_if(points, [&](const PathPoint& p) { return p.rms <= delta; });
    const auto place = static_cast<size_t>(feasible - points.begin());
    if (place > 0) high = scales[place - 1];
    if (feasible == points.end()) continue;
    low = scales[place];
    at_low = *feasible;
  }
  bounds.path_scale = low;
  bounds.path = at_low.nll - bounds.nll;
  bounds.path_rms = at_low.rms;
}

}  // namespace

double log_normalizer(const ScoredExample& e, double t) {
  LogSumExp sum;
  for (size_t y = 0; y < e.scores.size(); ++y) {
    if (log_h(e, y) > -kInfinity) sum.add(log_h(e, y) + t * e.scores[y]);
  }
  return sum.value();
}

std::vector<PathPoint> path_points(const ScoredExamples& examples, std::span<const double> scales) {
  const double m = m_of(examples);
  const PathSums zero{0, std::vector<double>(scales.size()), std::vector<double>(scales.size())};
  const PathSums sums = sum_over(examples, zero, [&](PathSums& part, uint64_t, const ScoredExample& e) {
    part.weight += e.weight;
    for (size_t j = 0; j < scales.size(); ++j) {
      const double a = log_normalizer(e, scales[j]);
      part.nll[j] += e.weight * (a - scales[j] * e.scores[e.target] - log_h(e, e.target));
      part.square[j] += e.weight * (a - m) * (a - m);
    }
  });
  std::vector<PathPoint> out;
  for (size_t j = 0; j < scales.size(); ++j)
    out.push_back({scales[j], sums.nll[j] / sums.weight, std::sqrt(sums.square[j] / sums.weight)});
  return out;
}

GapBounds gap_bounds_at_alpha(const ScoredExamples& examples, double delta) {
  require_range(delta > 0, "delta", delta, "a number > 0");
  if (examples.examples() == 0) throw Error("the data has no rows; expected at least one");
  GapBounds out;
  out.norm = examples.norm();
  out.radius = examples.radius();
  const double reach = out.norm * out.radius;
  require_range(reach >= 0, "|eta| R", reach, "a finite number");
  out.alpha = reach > delta ? delta / reach : 1;
  out.m = m_of(examples);

  const GapSums sums = sum_over(examples, GapSums{}, [&](GapSums& part, uint64_t i, const ScoredExample& e) {
    check_example(i, e, out);
    add_example(part, e, out.m, out.alpha);
  });
  if (!(sums.weight > 0)) throw Error("the weights of the examples are all 0; expected one above 0");
  out.nll = sums.nll / sums.weight;
  out.slope = sums.slope / sums.weight;
  out.kl = sums.kl / sums.weight;
  out.rms = std::sqrt(sums.square / sums.weight);
  out.ties = sums.ties;

  const double rest = 1 - out.alpha;
  out.concavity = rest * (sums.base / sums.weight - out.nll);
  out.theorem2 = rest * out.kl;
  out.proposition3 = rest * rest / 2 * sums.curvature / sums.weight;
  out.b = 2 * out.radius * out.radius * sums.largest_ratio;
  out.c = out.norm > 0 && sums.smallest_g < kInfinity ? sums.smallest_g / out.norm : 0;
  if (rest > 0) {
    const double shrunk = out.norm - delta / out.radius;
    out.proposition3_closed = out.b * shrunk * shrunk * std::exp(-out.c * delta / out.radius);
  }
  return out;
}

GapBounds gap_bounds(const ScoredExamples& examples, double delta) {
  GapBounds out = gap_bounds_at_alpha(examples, delta);
  if (out.rms <= delta) {
    out.path_scale = 1;
    out.path_rms = out.rms;
  } else {
    find_path_bound(examples, delta, out);
  }
  return out;
}

}  // namespace selfnorm
