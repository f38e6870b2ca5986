#include "family/density/exponential/matched_moments.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kInside = 1e-9;
constexpr double kLeastEigenvalue = 1e-6;  // of correlations; eta is kept in float32

MatchedMoments gaussian(uint32_t d, std::span<const double> mean) {
  const auto n = static_cast<Eigen::Index>(d);
  SELFNORM_CHECK(mean.size() == size_t{d} * (d + 3) / 2);
  const Eigen::Map<const Eigen::VectorXd> mu(mean.data(), n);
  Eigen::MatrixXd s = -mu * mu.transpose();
  size_t k = 2 * size_t{d};
  for (Eigen::Index i = 0; i < n; ++i) {
    s(i, i) += mean[d + static_cast<size_t>(i)];
    for (Eigen::Index j = i + 1; j < n; ++j, ++k) s(j, i) = s(i, j) += mean[k];
  }
  Eigen::VectorXd scale(n);
  for (Eigen::Index i = 0; i < n; ++i) scale(i) = s(i, i) > 0 ? std::sqrt(s(i, i)) : 1;
  const Eigen::VectorXd inverse = scale.cwiseInverse();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(inverse.asDiagonal() * s *
                                                              inverse.asDiagonal());
  const Eigen::VectorXd eigenvalues = solver.eigenvalues().cwiseMax(kLeastEigenvalue);
  const Eigen::MatrixXd v = inverse.asDiagonal() * solver.eigenvectors();
  const Eigen::MatrixXd p = v * eigenvalues.cwiseInverse().asDiagonal() * v.transpose();
  const Eigen::VectorXd h = p * mu;
  MatchedMoments out;
  out.is_at_the_edge = solver.eigenvalues().minCoeff() < kLeastEigenvalue;
  out.eta.assign(h.data(), h.data() + n);
  for (Eigen::Index i = 0; i < n; ++i) out.eta.push_back(-p(i, i) / 2);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = i + 1; j < n; ++j) out.eta.push_back(-p(i, j));
  return out;
}

// The inverse of the mean of one coordinate with one statistic, at a mean inside (0, most).
template <class Inverse>
MatchedMoments product(std::span<const double> mean, double most, const Inverse& inverse) {
  MatchedMoments out;
  for (const double m : mean) {
    const bool is_inside = m > 0 && m < most;
    out.is_at_the_edge = out.is_at_the_edge || !is_inside;
    out.eta.push_back(inverse(is_inside ? m : m > 0 ? most - kInside : kInside));
  }
  return out;
}

}  // namespace

std::optional<MatchedMoments> matched_moments(const std::string& word, uint32_t dimension,
                                              std::span<const double> mean) {
  if (word == "gaussian") return gaussian(dimension, mean);
  if (word == "exponential") return product(mean, INFINITY, [](double m) { return -1 / m; });
  if (word == "poisson") return product(mean, INFINITY, [](double m) { return std::log(m); });
  if (word == "bernoulli") return product(mean, 1, [](double m) { return std::log(m) - std::log1p(-m); });
  return std::nullopt;
}

}  // namespace selfnorm
