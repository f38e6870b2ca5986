#include "family/density/exponential/exponential_fit.h"

#include <fmt/ranges.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "model/energy/energy.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm {
namespace {

constexpr size_t kNodesAtOnce = 512;
constexpr int kMostHalvings = 60;
constexpr double kLeastRise = 1e-14;  // of the value, relative: below it rounding decides
// Added to the diagonal of the Hessian scaled to a diagonal of 1, so that statistics that are constant or
// linearly dependent on the nodes leave their coefficients where they are.
constexpr double kRidge = 1e-13;

// The root mean square of each u_k at r = 1: statistics may be of any size.
Eigen::VectorXd scales(const FamilyLikelihood::Derivatives& at) {
  const auto n = static_cast<Eigen::Index>(at.gradient.size());
  Eigen::VectorXd out(n);
  for (Eigen::Index k = 0; k < n; ++k)
    out(k) = std::sqrt(std::max(1e-300, -at.hessian[static_cast<size_t>(k * (n + 1))]));
  return out;
}

// H step = gradient.
std::vector<double> newton_step(const FamilyLikelihood::Derivatives& at) {
  const auto n = static_cast<Eigen::Index>(at.gradient.size());
  const Eigen::VectorXd inverse = scales(at).cwiseInverse();
  Eigen::MatrixXd curvature = inverse.asDiagonal() *
                              (-Eigen::Map<const Eigen::MatrixXd>(at.hessian.data(), n, n)) *
                              inverse.asDiagonal();
  curvature.diagonal().array() += kRidge;
  const Eigen::Map<const Eigen::VectorXd> gradient(at.gradient.data(), n);
  const Eigen::VectorXd step =
      inverse.cwiseProduct(curvature.ldlt().solve(inverse.cwiseProduct(gradient).eval()));
  return {step.data(), step.data() + n};
}

double gradient_size(const FamilyLikelihood::Derivatives& at) {
  const Eigen::VectorXd scale = scales(at).cwiseMax(1);
  double out = 0;
  for (size_t k = 0; k < at.gradient.size(); ++k)
    out = std::max(out, std::abs(at.gradient[k]) / scale(static_cast<Eigen::Index>(k)));
  return out;
}

constexpr double kLeastLogarithm = -85;   // e^u is a float32 above 0
constexpr double kLeastVariation = 1e-6;  // of a deviation, relative to the size of the column

}  // namespace

FamilyLikelihood::FamilyLikelihood(const ExponentialFamily& family, StatisticMeans data,
                                   const FitNodes& nodes)
    : mean_(std::move(data)), t_(nodes.x.rows * family.count()), level_(nodes.x.rows) {
  if (nodes.x.rows == 0 || nodes.x.columns != family.dimension())
    throw_error("fit of a family: nodes of {} rows and {} columns; expected at least one row and {} columns",
                nodes.x.rows, nodes.x.columns, family.dimension());
  SELFNORM_CHECK(nodes.log_weight.size() == nodes.x.rows && count() == family.count());
  const Support support = family.support();
  parallel_ranges(nodes.x.rows, kNodesAtOnce, [&](size_t begin, size_t end) {
    for (size_t j = begin; j < end; ++j) {
      if (!contains(support, nodes.x.row(j))) {
        level_[j] = -INFINITY;
        continue;
      }
      family.statistics(nodes.x.row(j), std::span(t_).subspan(j * count(), count()));
      level_[j] = family.log_carrier(nodes.x.row(j)) + nodes.log_weight[j];
    }
  });
}

double FamilyLikelihood::score(size_t node, std::span<const double> eta) const {
  return dot(eta.data(), t_.data() + node * count(), count()) + level_[node];
}

double FamilyLikelihood::log_z(std::span<const double> eta) const {
  std::vector<double> s(level_.size());
  parallel_ranges(s.size(), kNodesAtOnce, [&](size_t begin, size_t end) {
    for (size_t j = begin; j < end; ++j) s[j] = score(j, eta);
  });
  return exp_in_place(s.data(), s.size()).value();
}

double FamilyLikelihood::value(std::span<const double> eta, double b) const {
  return dot(eta.data(), mean_.t.data(), count()) + mean_.log_carrier - b - std::exp(log_z(eta) - b) + 1;
}

FamilyLikelihood::Derivatives FamilyLikelihood::derivatives(std::span<const double> eta, double b) const {
  const size_t m = count(), size = m + 1, blocks = (level_.size() + kNodesAtOnce - 1) / kNodesAtOnce;
  // Sums of p u u', u = (T, -1), of a group of blocks, added in order.
  constexpr size_t kGroups = 16;
  const size_t groups = std::min(blocks, kGroups);
  std::vector<std::vector<double>> parts(groups);
  parallel_units(groups, [&](size_t g) {
    std::vector<double>& part = parts[g];
    part.assign(size * size, 0);
    std::vector<double> u(size, -1);
    const size_t end = std::min(level_.size(), (g + 1) * blocks / groups * kNodesAtOnce);
    for (size_t j = g * blocks / groups * kNodesAtOnce; j < end; ++j) {
      const double p = std::exp(score(j, eta) - b);
      if (p == 0) continue;
      std::copy_n(t_.data() + j * m, m, u.data());
      for (size_t k = 0; k < size; ++k) add_scaled(p * u[k], u.data(), part.data() + k * size, k + 1);
    }
  });
  Derivatives out;
  out.hessian.assign(size * size, 0);
  for (const auto& part : parts) add_scaled(-1, part.data(), out.hessian.data(), part.size());
  for (size_t k = 0; k < size; ++k)
    for (size_t l = 0; l < k; ++l) out.hessian[l * size + k] = out.hessian[k * size + l];
  // The last row of the Hessian is sum_j p_j (T_j, -1).
  for (size_t k = 0; k < m; ++k) out.gradient.push_back(mean_.t[k] - out.hessian[m * size + k]);
  out.gradient.push_back(-1 - out.hessian[m * size + m]);
  out.value = value(eta, b);
  return out;
}

void ExponentialFitOptions::validate() const {
  require_range(most_iterations >= 1, "most_iterations", static_cast<double>(most_iterations), "at least 1");
  require_range(tolerance > 0, "tolerance", tolerance, "above 0");
}

ExponentialFit fit_exponential(const ExponentialFamily& family, const FamilyLikelihood& likelihood,
                               const ExponentialFitOptions& options) {
  options.validate();
  const size_t m = likelihood.count();
  ExponentialFit fit;
  fit.eta = family.eta();
  fit.b = likelihood.log_z(fit.eta);
  if (!std::isfinite(fit.b))
    throw_error(
        "fit of a family: the sum over the nodes is exp({}); expected nodes inside the support with finite "
        "weights",
        fit.b);
  for (;; ++fit.iterations) {
    const auto now = likelihood.derivatives(fit.eta, fit.b);
    fit.value = now.value;
    fit.gradient_size = gradient_size(now);
    fit.is_converged = fit.gradient_size <= options.tolerance;
    if (fit.is_converged) {
      fit.reason = "the gradient is within the tolerance";
      return fit;
    }
    if (fit.iterations == options.most_iterations) {
      fit.reason = fmt::format("{} iterations; the data may have no maximum-likelihood estimate",
                               options.most_iterations);
      return fit;
    }
    const std::vector<double> step = newton_step(now);
    std::vector<double> eta(m);
    double share = 1, b = 0, value = -INFINITY;
    for (int halving = 0; halving < kMostHalvings; ++halving, share /= 2) {
      for (size_t k = 0; k < m; ++k) eta[k] = fit.eta[k] + share * step[k];
      if (!family.domain().violation(eta).empty()) continue;
      b = likelihood.log_z(eta);
      value = likelihood.value(eta, b);
      if (value > now.value) break;
    }
    if (!(value > now.value + kLeastRise * std::abs(now.value))) {
      fit.is_converged = fit.gradient_size <= std::sqrt(options.tolerance);
      fit.reason = "converged as far as rounding lets it";
      return fit;
    }
    fit.eta = eta;
    fit.b = b;
  }
}

void FamilyMean::add(const Points& x, std::span<const uint64_t> numbers) {
  require_inside(family_, x, numbers, rows_);
  for (uint64_t i = 0; i < x.rows; ++i, ++rows_) {
    for (const Statistic& term : family_.terms()) {
      if (term.kind != Statistic::Kind::log || x.row(i)[term.i] > 0) continue;
      throw_error(
          "row {} is ({}), where {} has no likelihood: expected numbers above 0 for its log; drop it or "
          "choose another family",
          numbers.empty() ? rows_ : numbers[i],
          runtime::shortened(fmt::format("{}", fmt::join(x.row(i), ", "))), family_.record().kind);
    }
    family_.statistics(x.row(i), t_);
    add_scaled(1, t_.data(), sum_.t.data(), t_.size());
    sum_.log_carrier += family_.log_carrier(x.row(i));
  }
}

StatisticMeans FamilyMean::means() const {
  StatisticMeans out = sum_;
  for (double& t : out.t) t /= static_cast<double>(rows_);
  out.log_carrier /= static_cast<double>(rows_);
  return out;
}

void FamilyAxis::Extent::add(double v) {
  least = count > 0 ? std::min(least, v) : v;
  most = count > 0 ? std::max(most, v) : v;
  const double delta = v - mean;
  mean += delta / ++count;
  square += delta * (v - mean);
}

double FamilyAxis::Extent::deviation() const { return count > 0 ? std::sqrt(square / count) : 0; }

bool FamilyAxis::is_half_line() const { return std::isfinite(lower_) != std::isfinite(upper_); }

double FamilyAxis::distance(double x) const { return std::isfinite(lower_) ? x - lower_ : upper_ - x; }

void FamilyAxis::add(double x) {
  x_.add(x);
  if (is_half_line() && distance(x) > 0) log_.add(std::log(distance(x)));
}

double FamilyAxis::scale() const {
  const double size = std::max(std::abs(x_.least), std::abs(x_.most));
  return std::max(x_.deviation(), kLeastVariation * (size > 0 ? size : 1));
}

FamilyAxis::Segment FamilyAxis::segment(const FamilyReach& reach) const {
  const double more = reach.width * scale();
  if (!is_half_line()) return {std::max(lower_, x_.least - more), std::min(upper_, x_.most + more)};
  const double farthest = std::isfinite(lower_) ? distance(x_.most) : distance(x_.least);
  const double middle = std::max(distance(x_.mean), scale());
  const double spread = log_.count > 0 ? log_.least - reach.width * log_.deviation() : INFINITY;
  return {std::max(kLeastLogarithm, std::min(std::log(middle) - reach.depth, spread)),
          std::log(farthest + more)};
}

double FamilyAxis::x(double u) const {
  if (!is_half_line()) return u;
  return std::isfinite(lower_) ? lower_ + std::exp(u) : upper_ - std::exp(u);
}

std::vector<FamilyAxis> family_axes(const Support& support, uint32_t dimension) {
  SELFNORM_CHECK(support.is_real());
  std::vector<FamilyAxis> out;
  for (uint32_t j = 0; j < dimension; ++j)
    out.emplace_back(support.lower.empty() ? -INFINITY : support.lower[j],
                     support.upper.empty() ? INFINITY : support.upper[j]);
  return out;
}

QuadratureNodes family_nodes(std::span<const FamilyAxis> axes, const FamilyReach& reach, uint32_t cells) {
  std::vector<double> lower, upper;
  for (const FamilyAxis& axis : axes) {
    const FamilyAxis::Segment s = axis.segment(reach);
    lower.push_back(s.lower);
    upper.push_back(s.upper);
  }
  QuadratureNodes out = quadrature_nodes(lower, upper, cells);
  for (size_t i = 0; i < out.log_weight.size(); ++i)
    for (size_t j = 0; j < axes.size(); ++j) {
      float& x = out.x[i * axes.size() + j];
      const double u = x;
      out.log_weight[i] += axes[j].log_slope(u);
      x = static_cast<float>(axes[j].x(u));
    }
  return out;
}

}  // namespace selfnorm
