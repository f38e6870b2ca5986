#include "sampler/annealing_path.h"

#include <algorithm>

#include "base/failure.h"
#include "math/parallel.h"
#include "model/energy/tilted.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr size_t kRows = 256;  // a unit of parallel work

double bound(const std::vector<double>& bounds, size_t j, double none) {
  return bounds.empty() ? none : bounds[j];
}

// Whether every point of `inner` is one of `outer`.
bool covers(const Support& outer, const Support& inner, uint32_t dimension) {
  if (inner.is_real() != outer.is_real() || inner.is_mixed() != outer.is_mixed()) return false;
  for (uint32_t j = 0; j < dimension; ++j) {
    if (inner.is_real()) {
      if (bound(outer.lower, j, -kInfinity) > bound(inner.lower, j, -kInfinity) ||
          bound(outer.upper, j, kInfinity) < bound(inner.upper, j, kInfinity))
        return false;
    } else if (outer.is_mixed()) {
      if ((outer.levels[j] == 0) != (inner.levels[j] == 0) || outer.levels[j] < inner.levels[j]) return false;
    } else if (outer.space == Support::Space::levels) {
      if (inner.space == Support::Space::counts || outer.levels[j] < inner.levels[j]) return false;
    }
  }
  return true;
}

const char* space_name(const Support& support) {
  if (support.space == Support::Space::levels) return "levels";
  if (support.space == Support::Space::counts) return "counts";
  if (support.is_mixed()) return "columns of numbers and levels";
  return support.lower.empty() && support.upper.empty() ? "all real numbers" : "a box of real numbers";
}

// A box or a table of levels; all of R^d holds every finite point.
bool is_bounded(const Support& support) {
  return !support.is_real() || !support.lower.empty() || !support.upper.empty();
}

}  // namespace

bool is_covered(const Energy& energy, const Density& q) {
  return covers(q.support(), energy.support(), energy.dimension());
}

AnnealingPath::AnnealingPath(const Energy& energy)
    : energy_(energy), support_(energy.support()), is_bounded_(is_bounded(support_)) {}

AnnealingPath::AnnealingPath(const Energy& energy, const Density& start) : AnnealingPath(energy) {
  start_ = &start;
  if (energy.dimension() != start.dimension())
    throw_error("the proposal has {} dimensions and the energy {}; expected the same", start.dimension(),
                energy.dimension());
  if (!is_covered(energy, start))
    throw_error(
        "the proposal is over {}, which does not cover that of the energy, {}; importance weights need a "
        "proposal that is positive wherever the energy is, such as a mixture, or an energy that tilts the "
        "proposal",
        space_name(start.support()), space_name(support_));
  const auto* tilted = dynamic_cast<const TiltedEnergy*>(&energy);
  if (tilted != nullptr && tilted->base().get() == &start) tilt_ = &tilted->tilt();
}

void AnnealingPath::weights(const Points& x, std::span<const double> log_q, std::span<double> weight) const {
  (tilt_ != nullptr ? *tilt_ : energy_).score(x, weight);
  if (needs_log_q())
    for (size_t i = 0; i < weight.size(); ++i) weight[i] -= log_q[i];
  if (is_bounded_)
    for (size_t i = 0; i < weight.size(); ++i)
      if (!contains(support_, x.row(i))) weight[i] = -kInfinity;
}

void AnnealingPath::evaluate(const Points& x, PathValues& out) const {
  out.start.assign(x.rows, 0.0);
  out.weight.resize(x.rows);
  if (start_ != nullptr) density_log_prob(*start_, x, out.start);
  (tilt_ != nullptr ? *tilt_ : energy_).score(x, out.weight);
  if (needs_log_q())
    for (size_t i = 0; i < x.rows; ++i) out.weight[i] -= out.start[i];
  forbid(x, out);
}

void AnnealingPath::evaluate_gradient(const Points& x, PathValues& out) const {
  out.start.assign(x.rows, 0.0);
  out.weight.resize(x.rows);
  out.weight_gradient.resize(x.size());
  std::vector<float> dx(x.size());
  (tilt_ != nullptr ? *tilt_ : energy_).score_gradient(x, out.weight, dx);
  std::copy(dx.begin(), dx.end(), out.weight_gradient.begin());
  if (start_ != nullptr) {
    out.start_gradient.resize(x.size());
    parallel_ranges(x.rows, kRows, [&](size_t begin, size_t end) {
      const size_t n = end - begin, d = x.columns;
      start_->log_prob_gradient(x.slice(begin, end), std::span(out.start).subspan(begin, n),
                                std::span(out.start_gradient).subspan(begin * d, n * d));
    });
  }
  if (needs_log_q()) {
    for (size_t i = 0; i < x.rows; ++i) out.weight[i] -= out.start[i];
    for (size_t k = 0; k < x.size(); ++k) out.weight_gradient[k] -= out.start_gradient[k];
  }
  forbid(x, out);
}

void AnnealingPath::forbid(const Points& x, PathValues& out) const {
  for (size_t i = 0; i < x.rows; ++i) {
    const bool is_possible = out.start[i] > -kInfinity && out.weight[i] != -kInfinity;
    if (is_possible && !(is_bounded_ && !contains(support_, x.row(i)))) continue;
    out.start[i] = -kInfinity;
    out.weight[i] = 0;
  }
}

}  // namespace selfnorm
