#include "selfnorm/train/exponential_fit.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/math/kernels.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kNodesAtOnce = 512;
constexpr int kMostHalvings = 60;
constexpr double kLeastRise = 1e-14;  // of the value, relative: below it rounding decides
// Added to the diagonal of the Hessian, relative to its largest entry, so that statistics that are constant
// or linearly dependent on the nodes leave their coefficients where they are.
constexpr double kRidge = 1e-13;

// H step = gradient.
std::vector<double> newton_step(const FamilyLikelihood::Derivatives& at) {
  const auto n = static_cast<Eigen::Index>(at.gradient.size());
  Eigen::MatrixXd curvature = -Eigen::Map<const Eigen::MatrixXd>(at.hessian.data(), n, n);
  curvature.diagonal().array() += kRidge * std::max(1e-300, curvature.diagonal().maxCoeff());
  const Eigen::VectorXd step =
      curvature.ldlt().solve(Eigen::Map<const Eigen::VectorXd>(at.gradient.data(), n));
  return {step.data(), step.data() + n};
}

double largest(std::span<const double> x) {
  double out = 0;
  for (const double v : x) out = std::max(out, std::abs(v));
  return out;
}

}  // namespace

FamilyLikelihood::FamilyLikelihood(const ExponentialFamily& family, const Points& data, const FitNodes& nodes)
    : mean_(family.count()), t_(nodes.x.rows * family.count()), level_(nodes.x.rows) {
  const size_t d = family.dimension();
  for (const auto& [x, name] : {std::pair(data, "data"), std::pair(nodes.x, "nodes")})
    if (x.rows == 0 || x.columns != d)
      throw Error(
          fmt::format("fit of a family: {} of {} rows and {} columns; expected at least one row and {} "
                      "columns",
                      name, x.rows, x.columns, d));
  SELFNORM_CHECK(nodes.log_weight.size() == nodes.x.rows);
  const Support support = family.support();
  std::vector<double> t(count());
  const double share = 1 / static_cast<double>(data.rows);
  for (uint64_t i = 0; i < data.rows; ++i) {
    if (!contains(support, data.row(i)))
      throw Error(
          fmt::format("fit of a family: row {} of the data is outside the support of {}; drop it or "
                      "choose another family",
                      i, family.record().kind));
    family.statistics(data.row(i), t);
    add_scaled(share, t.data(), mean_.data(), count());
    mean_log_carrier_ += share * family.log_carrier(data.row(i));
  }
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
  return dot(eta.data(), mean_.data(), count()) + mean_log_carrier_ - b - std::exp(log_z(eta) - b) + 1;
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
  for (size_t k = 0; k < m; ++k) out.gradient.push_back(mean_[k] - out.hessian[m * size + k]);
  out.gradient.push_back(-1 - out.hessian[m * size + m]);
  out.value = value(eta, b);
  return out;
}

void ExponentialFitOptions::validate() const {
  require_range(most_iterations >= 1, "most_iterations", static_cast<double>(most_iterations), "at least 1");
  require_range(tolerance > 0, "tolerance", tolerance, "above 0");
}

ExponentialFit fit_exponential(const ExponentialFamily& family, const Points& data, const FitNodes& nodes,
                               const ExponentialFitOptions& options) {
  options.validate();
  const FamilyLikelihood likelihood(family, data, nodes);
  const size_t m = likelihood.count();
  ExponentialFit fit;
  fit.eta = family.eta();
  fit.b = likelihood.log_z(fit.eta);
  if (!std::isfinite(fit.b))
    throw Error(
        fmt::format("fit of a family: the sum over the nodes is exp({}); expected nodes inside the "
                    "support with finite weights",
                    fit.b));
  for (;; ++fit.iterations) {
    const auto now = likelihood.derivatives(fit.eta, fit.b);
    fit.value = now.value;
    fit.gradient_size = largest(now.gradient);
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
      fit.reason = "no step improves the likelihood";
      return fit;
    }
    fit.eta = eta;
    fit.b = b;
  }
}

}  // namespace selfnorm
