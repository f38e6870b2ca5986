#include "optim/lbfgs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "math/parallel.h"
#include "math/vector.h"

namespace selfnorm {
namespace {

constexpr size_t kRecent = 10;
constexpr size_t kPiece = 1 << 15;  // coordinates per unit of parallel work

template <class Real>
std::span<const Real> view(const std::vector<Real>& v) {
  return v;
}

template <class Real>
Real sign(Real v) {
  return v > 0 ? Real{1} : v < 0 ? Real{-1} : Real{0};
}

}  // namespace

void LbfgsOptions::validate() const {
  require_range(history >= 1 && history <= 100, "history", static_cast<double>(history), "1 to 100");
  require_range(tolerance > 0, "tolerance", tolerance, "a number > 0");
  require_range(l1 >= 0, "l1", l1, "a number >= 0");
}

template <class Real>
Lbfgs<Real>::Lbfgs(LbfgsOptions options, Function f) : options_(options), f_(std::move(f)) {
  options_.validate();
}

template <class Real>
double Lbfgs<Real>::evaluate(std::span<const Real> x, std::span<Real> gradient) {
  ++state_.evaluations;
  double value = f_(x, gradient);
  if (options_.l1 > 0) value += options_.l1 * absolute_sum(x.first(options_.l1_count));
  return value;
}

template <class Real>
void Lbfgs<Real>::start(std::vector<Real> x) {
  state_ = {};
  hessian_.forget();
  reason_.clear();
  stuck_ = is_accepting_ = false;
  state_.gradient.resize(x.size());
  state_.x = std::move(x);
  state_.value = evaluate(state_.x, state_.gradient);
  state_.recent_values = {state_.value};
  arrive();
  state_.first_norm = norm_;
}

template <class Real>
void Lbfgs<Real>::start_again(std::vector<Real> x) {
  const double first_norm = state_.first_norm;
  start(std::move(x));
  state_.first_norm = first_norm;
}

template <class Real>
void Lbfgs<Real>::restore(LbfgsState<Real> state) {
  state_ = std::move(state);
  hessian_.forget();
  reason_.clear();
  is_accepting_ = false;
  arrive();
}

// At a new point: the minimum-norm subgradient of f + l1 |x|_1 (the gradient itself without an L1 term) and
// its norm.
template <class Real>
void Lbfgs<Real>::arrive() {
  if (options_.l1 > 0) {
    const Real c = static_cast<Real>(options_.l1);
    pseudo_ = state_.gradient;
    parallel_ranges(options_.l1_count, kPiece, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const Real g = pseudo_[i];
        if (state_.x[i] != 0)
          pseudo_[i] = g + c * sign(state_.x[i]);
        else
          pseudo_[i] = g + c < 0 ? g + c : g - c > 0 ? g - c : Real{0};
      }
    });
  }
  norm_ = std::sqrt(inner_product(pseudo_gradient(), pseudo_gradient()));
}

template <class Real>
bool Lbfgs<Real>::converged() {
  if (norm_ <= options_.tolerance * state_.first_norm) {
    reason_ = fmt::format("converged: gradient norm {:.3g}", norm_);
    return true;
  }
  if (state_.recent_values.size() > kRecent) {
    const double decrease = state_.recent_values.front() - state_.value;
    if (decrease <= 1e-3 * options_.tolerance * std::abs(state_.value)) {
      reason_ = fmt::format("converged: the loss fell by {:.3g} in {} iterations", decrease, kRecent);
      return true;
    }
  }
  return false;
}

template <class Real>
void Lbfgs<Real>::forget_curvature() {
  state_.s.clear();
  state_.y.clear();
  state_.rho.clear();
  hessian_.forget();
}

template <class Real>
bool Lbfgs<Real>::step() {
  if (!std::isfinite(state_.value)) {
    reason_ = "the loss is not finite";
    return false;
  }
  if (converged()) return false;
  for (auto* room : {&direction_, &trial_x_, &trial_gradient_}) room->resize(state_.x.size());
  const std::span<const Real> gradient = pseudo_gradient();
  // The second attempt forgets the curvature: steepest descent from the same point.
  for (int attempt = 0; attempt < 2; ++attempt) {
    hessian_.direction(state_.s, state_.y, state_.rho, gradient, direction_);
    if (options_.l1 > 0) {
      for (size_t i = 0; i < options_.l1_count; ++i)
        if (direction_[i] * gradient[i] >= 0) direction_[i] = 0;
    }
    const double slope = shared_inner_product(view(direction_), gradient);
    const double first_step = state_.s.empty() ? std::min(1.0, 1 / norm_) : 1;
    if (slope < 0 && (options_.l1 > 0 ? orthant_search(first_step) : wolfe_search(slope, first_step))) {
      ++state_.iteration;
      state_.recent_values.push_back(state_.value);
      if (state_.recent_values.size() > kRecent + 1) state_.recent_values.erase(state_.recent_values.begin());
      return true;
    }
    if (state_.s.empty()) break;
    forget_curvature();
  }
  stuck_ = true;
  reason_ = fmt::format("no further progress at this precision: gradient norm {:.3g}", norm_);
  return false;
}

template <class Real>
bool Lbfgs<Real>::wolfe_search(double slope, double first_step) {
  const auto phi = [&](double step) {
    sum_with_multiple(view(state_.x), step, view(direction_), std::span<Real>(trial_x_));
    const double value = evaluate(trial_x_, trial_gradient_);
    return LinePoint{step, value, shared_inner_product(view(trial_gradient_), view(direction_))};
  };
  const double noise =
      4 * static_cast<double>(std::numeric_limits<Real>::epsilon()) * std::abs(state_.value) / 16;
  const LineResult found = strong_wolfe(phi, {0, state_.value, slope}, first_step, noise);
  if (!found.success) return false;
  if (found.point.step != found.last_step) phi(found.point.step);
  accept(found.point.value);
  return true;
}

// The trial point becomes its projection onto the orthant of x (of -pseudo-gradient where x = 0); returns the
// decrease that the pseudo-gradient predicts for it, as a negative number.
template <class Real>
double Lbfgs<Real>::project_onto_orthant() {
  return ordered_sum(state_.x.size(), kPiece, [&](size_t begin, size_t end) {
    double predicted = 0;
    for (size_t i = begin; i < end; ++i) {
      if (i < options_.l1_count) {
        const Real orthant = state_.x[i] != 0 ? sign(state_.x[i]) : -sign(pseudo_[i]);
        if (trial_x_[i] * orthant <= 0) trial_x_[i] = 0;
      }
      predicted += static_cast<double>(pseudo_[i]) * static_cast<double>(trial_x_[i] - state_.x[i]);
    }
    return predicted;
  });
}

// Backtracking along the projection of x + t d.
template <class Real>
bool Lbfgs<Real>::orthant_search(double first_step) {
  double step = first_step;
  for (int attempt = 0; attempt < 40; ++attempt, step *= 0.5) {
    sum_with_multiple(view(state_.x), step, view(direction_), std::span<Real>(trial_x_));
    const double predicted = project_onto_orthant();
    const double value = evaluate(trial_x_, trial_gradient_);
    if (predicted < 0 && value <= state_.value + 1e-4 * predicted) {
      accept(value);
      return true;
    }
  }
  return false;
}

// Moves to the trial point. The pair (s, y) is made in room that is free now, and takes the place of the
// oldest when the history is full.
template <class Real>
void Lbfgs<Real>::accept(double value) {
  is_accepting_ = true;
  state_.value = value;
  std::swap(state_.x, trial_x_);
  std::swap(state_.gradient, trial_gradient_);
  std::vector<Real>&s = direction_, &y = trial_gradient_;
  sum_with_multiple(view(state_.x), -1, view(trial_x_), std::span<Real>(s));
  sum_with_multiple(view(state_.gradient), -1, view(trial_gradient_), std::span<Real>(y));
  const double curvature = inner_product(view(s), view(y));
  if (curvature > 1e-10 * inner_product(view(y), view(y))) {
    if (state_.s.size() < options_.history) {
      state_.s.push_back(std::move(s));
      state_.y.push_back(std::move(y));
    } else {
      std::rotate(state_.s.begin(), state_.s.begin() + 1, state_.s.end());
      std::rotate(state_.y.begin(), state_.y.begin() + 1, state_.y.end());
      std::swap(state_.s.back(), s);
      std::swap(state_.y.back(), y);
      state_.rho.erase(state_.rho.begin());
      hessian_.forget_oldest();
    }
    state_.rho.push_back(1 / curvature);
  }
  arrive();
  is_accepting_ = false;
}

template class Lbfgs<float>;
template class Lbfgs<double>;

}  // namespace selfnorm
