#include "selfnorm/optim/lbfgs.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "selfnorm/base/error.h"
#include "selfnorm/math/vector.h"
#include "selfnorm/optim/line_search.h"

namespace selfnorm {
namespace {

constexpr size_t kRecent = 10;

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
  if (history < 1 || history > 100)
    throw Error(fmt::format("history = {} is out of range; expected 1 to 100", history));
  if (!(tolerance > 0))
    throw Error(fmt::format("tolerance = {} is out of range; expected a number > 0", tolerance));
  if (!(l1 >= 0)) throw Error(fmt::format("l1 = {} is out of range; expected a number >= 0", l1));
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
  reason_.clear();
  state_.gradient.resize(x.size());
  state_.x = std::move(x);
  state_.value = evaluate(state_.x, state_.gradient);
  state_.recent_values = {state_.value};
}

// The minimum-norm subgradient of f + l1 |x|_1; the gradient itself without an L1 term.
template <class Real>
std::vector<Real> Lbfgs<Real>::pseudo_gradient() const {
  std::vector<Real> g = state_.gradient;
  if (options_.l1 == 0) return g;
  const Real c = static_cast<Real>(options_.l1);
  for (size_t i = 0; i < options_.l1_count; ++i) {
    if (state_.x[i] != 0) {
      g[i] += c * sign(state_.x[i]);
    } else {
      g[i] = g[i] + c < 0 ? g[i] + c : g[i] - c > 0 ? g[i] - c : Real{0};
    }
  }
  return g;
}

template <class Real>
double Lbfgs<Real>::gradient_norm() const {
  const std::vector<Real> g = pseudo_gradient();
  return std::sqrt(inner_product(view(g), view(g)));
}

// -H g by the two-loop recursion.
template <class Real>
std::vector<Real> Lbfgs<Real>::direction(std::span<const Real> gradient) const {
  std::vector<Real> d(gradient.begin(), gradient.end());
  const size_t m = state_.s.size();
  std::vector<double> a(m);
  for (size_t i = m; i-- > 0;) {
    a[i] = state_.rho[i] * inner_product(view(state_.s[i]), view(d));
    add_multiple(-a[i], view(state_.y[i]), std::span<Real>(d));
  }
  double scale = -1;
  if (m > 0) {
    const auto& y = state_.y.back();
    scale = -1 / (state_.rho.back() * inner_product(view(y), view(y)));
  }
  multiply(scale, std::span<Real>(d));
  for (size_t i = 0; i < m; ++i) {
    const double b = state_.rho[i] * inner_product(view(state_.y[i]), view(d));
    add_multiple(-a[i] - b, view(state_.s[i]), std::span<Real>(d));
  }
  return d;
}

template <class Real>
bool Lbfgs<Real>::converged(std::span<const Real> gradient) {
  const double norm = std::sqrt(inner_product(gradient, gradient));
  const double size = std::sqrt(inner_product(view(state_.x), view(state_.x)));
  if (norm <= options_.tolerance * std::max(1.0, size)) {
    reason_ = fmt::format("converged: gradient norm {:.3g}", norm);
    return true;
  }
  if (state_.recent_values.size() > kRecent) {
    const double decrease = state_.recent_values.front() - state_.value;
    if (decrease <= 0.01 * options_.tolerance * std::abs(state_.value)) {
      reason_ = fmt::format("converged: the loss fell by {:.3g} in {} iterations", decrease, kRecent);
      return true;
    }
  }
  return false;
}

template <class Real>
bool Lbfgs<Real>::step() {
  if (!std::isfinite(state_.value)) {
    reason_ = "the loss is not finite";
    return false;
  }
  const std::vector<Real> gradient = pseudo_gradient();
  if (converged(gradient)) return false;
  // The second attempt forgets the curvature: steepest descent from the same point.
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::vector<Real> d = direction(gradient);
    if (options_.l1 > 0) {
      for (size_t i = 0; i < options_.l1_count; ++i) {
        if (d[i] * gradient[i] >= 0) d[i] = 0;
      }
    }
    const double slope = inner_product(view(d), view(gradient));
    const double norm = std::sqrt(inner_product(view(gradient), view(gradient)));
    const double first_step = state_.s.empty() ? std::min(1.0, 1 / norm) : 1;
    if (slope < 0) {
      const bool found =
          options_.l1 > 0 ? orthant_search(d, gradient, first_step) : wolfe_search(d, slope, first_step);
      if (found) {
        ++state_.iteration;
        state_.recent_values.push_back(state_.value);
        if (state_.recent_values.size() > kRecent + 1)
          state_.recent_values.erase(state_.recent_values.begin());
        return true;
      }
    }
    if (state_.s.empty()) break;
    state_.s.clear();
    state_.y.clear();
    state_.rho.clear();
  }
  reason_ = fmt::format("no further progress at this precision: gradient norm {:.3g}", gradient_norm());
  return false;
}

template <class Real>
bool Lbfgs<Real>::wolfe_search(std::span<const Real> d, double slope, double first_step) {
  std::vector<Real> x(state_.x.size()), gradient(state_.x.size());
  const auto phi = [&](double step) {
    sum_with_multiple(view(state_.x), step, d, std::span<Real>(x));
    const double value = evaluate(x, gradient);
    return LinePoint{step, value, inner_product(view(gradient), d)};
  };
  const double noise =
      4 * static_cast<double>(std::numeric_limits<Real>::epsilon()) * std::abs(state_.value) / 16;
  const LineResult found = strong_wolfe(phi, {0, state_.value, slope}, first_step, noise);
  if (!found.success) return false;
  if (found.point.step != found.last_step) phi(found.point.step);
  accept(found.point.value, std::move(x), std::move(gradient));
  return true;
}

// Backtracking along the projection of x + t d onto the orthant of x (of -gradient where x = 0).
template <class Real>
bool Lbfgs<Real>::orthant_search(std::span<const Real> d, std::span<const Real> pseudo, double first_step) {
  std::vector<Real> x(state_.x.size()), gradient(state_.x.size());
  double step = first_step;
  for (int attempt = 0; attempt < 40; ++attempt, step *= 0.5) {
    sum_with_multiple(view(state_.x), step, d, std::span<Real>(x));
    double predicted = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (i < options_.l1_count) {
        const Real orthant = state_.x[i] != 0 ? sign(state_.x[i]) : -sign(pseudo[i]);
        if (x[i] * orthant <= 0) x[i] = 0;
      }
      predicted += static_cast<double>(pseudo[i]) * static_cast<double>(x[i] - state_.x[i]);
    }
    const double value = evaluate(x, gradient);
    if (predicted < 0 && value <= state_.value + 1e-4 * predicted) {
      accept(value, std::move(x), std::move(gradient));
      return true;
    }
  }
  return false;
}

template <class Real>
void Lbfgs<Real>::accept(double value, std::vector<Real> x, std::vector<Real> gradient) {
  std::vector<Real> s(x.size()), y(x.size());
  sum_with_multiple(view(x), -1, view(state_.x), std::span<Real>(s));
  sum_with_multiple(view(gradient), -1, view(state_.gradient), std::span<Real>(y));
  const double curvature = inner_product(view(s), view(y));
  if (curvature > 1e-10 * inner_product(view(y), view(y))) {
    if (state_.s.size() == options_.history) {
      state_.s.erase(state_.s.begin());
      state_.y.erase(state_.y.begin());
      state_.rho.erase(state_.rho.begin());
    }
    state_.s.push_back(std::move(s));
    state_.y.push_back(std::move(y));
    state_.rho.push_back(1 / curvature);
  }
  state_.value = value;
  state_.x = std::move(x);
  state_.gradient = std::move(gradient);
}

template class Lbfgs<float>;
template class Lbfgs<double>;

}  // namespace selfnorm
