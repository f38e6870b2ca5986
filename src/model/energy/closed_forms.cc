// A(eta) = log Z and its gradient E T where they are known (model/energy/exponential_family.h).

#include <Eigen/Cholesky>
#include <cmath>
#include <numbers>

#include "math/sigmoid.h"
#include "math/special_functions.h"
#include "model/energy/exponential_family.h"
#include "proposal/direction/direction_mixture.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using Kind = Statistic::Kind;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using std::numbers::pi;

double normal_density(double z) { return std::isinf(z) ? 0 : std::exp(-z * z / 2) / std::sqrt(2 * pi); }

struct OneCoordinate {
  double log_z = 0, first = 0, second = 0;  // means of the first and the second statistic
};

std::optional<OneCoordinate> truncated_normal(double h, double p, double lower, double upper) {
  if (!(p > 0)) return std::nullopt;
  const double mu = h / p, root = std::sqrt(p);
  const double a = (lower - mu) * root, b = (upper - mu) * root;
  const double mass = normal_mass(a, b);
  if (!(mass > 1e-290)) return std::nullopt;
  const double fa = normal_density(a), fb = normal_density(b);
  const double z = (fa - fb) / mass;
  const double z2 = 1 + ((fa > 0 ? a * fa : 0) - (fb > 0 ? b * fb : 0)) / mass;
  return OneCoordinate{h * mu / 2 + std::log(2 * pi / p) / 2 + std::log(mass), mu + z / root,
                       mu * mu + 2 * mu * z / root + z2 / p};
}

// e: the statistics' coefficients of one coordinate.
OneCoordinate one_coordinate(const std::string& family, double e, double f) {
  if (family == "exponential") return {-std::log(-e), -1 / e, 0};
  if (family == "gamma")
    return {log_gamma(e + 1) - (e + 1) * std::log(-f), digamma(e + 1) - std::log(-f), -(e + 1) / f};
  if (family == "von-mises") {
    const double kappa = std::hypot(e, f);
    const BesselI bessel = bessel_i(kappa);
    const double share = kappa > 0 ? bessel.ratio / kappa : 0.5;
    return {std::log(2 * pi) + bessel.log_zero, share * e, share * f};
  }
  if (family == "poisson") return {std::exp(e), std::exp(e), 0};
  SELFNORM_CHECK(family == "bernoulli");
  return {softplus(e), sigmoid(e), 0};
}

// With h the coefficients of x: A = d/2 log 2 pi - 1/2 log det P + 1/2 h'P^-1 h.
ClosedForm gaussian_form(std::span<const Statistic> statistics, std::span<const double> eta,
                         uint32_t dimension) {
  const std::vector<double> p = precision_matrix(statistics, eta, dimension);
  const Eigen::LLT<Matrix> factor(Eigen::Map<const Matrix>(p.data(), dimension, dimension));
  SELFNORM_CHECK(factor.info() == Eigen::Success);
  const Eigen::Map<const Eigen::VectorXd> h(eta.data(), dimension);
  const Eigen::VectorXd mu = factor.solve(h);
  const Matrix covariance = factor.solve(Matrix::Identity(dimension, dimension));
  ClosedForm out;
  const Matrix root = factor.matrixL();
  out.log_z = dimension * std::log(2 * pi) / 2 - root.diagonal().array().log().sum() + h.dot(mu) / 2;
  for (const auto& [kind, i, j] : statistics)
    out.mean.push_back(kind == Kind::x ? mu(i) : covariance(i, j) + mu(i) * mu(j));
  return out;
}

// A product of normals cut off at a_j, b_j: the normal's A plus log(Phi(beta) - Phi(alpha)). None when P is
// not diagonal and positive, or a box so far in a tail that Phi underflows.
std::optional<ClosedForm> truncated_gaussian_form(std::span<const Statistic> statistics,
                                                  std::span<const double> eta, const Support& box) {
  const size_t d = box.lower.size();
  ClosedForm out;
  out.mean.assign(eta.size(), 0);
  for (size_t k = 2 * d; k < eta.size(); ++k)
    if (eta[k] != 0) return std::nullopt;
  for (size_t i = 0; i < d; ++i) {
    const auto c = truncated_normal(eta[i], -2 * eta[d + i], box.lower[i], box.upper[i]);
    if (!c) return std::nullopt;
    out.log_z += c->log_z;
    out.mean[i] = c->first;
    out.mean[d + i] = c->second;
  }
  for (size_t k = 2 * d; k < eta.size(); ++k)
    out.mean[k] = out.mean[statistics[k].i] * out.mean[statistics[k].j];
  return out;
}

// exponential, gamma, von-mises, poisson, bernoulli: sums over coordinates of
//     exponential  -log(-eta)              gamma  log Gamma(eta_1 + 1) - (eta_1 + 1) log(-eta_2)
//     von-mises    log 2 pi I_0(|eta|)     poisson  exp eta         bernoulli  log(1 + exp eta)
ClosedForm product_form(const std::string& family, std::span<const double> eta, uint32_t dimension) {
  const bool has_two = eta.size() == 2 * size_t{dimension};
  ClosedForm out;
  out.mean.assign(eta.size(), 0);
  for (size_t i = 0; i < dimension; ++i) {
    const OneCoordinate c = one_coordinate(family, eta[i], has_two ? eta[dimension + i] : 0);
    out.log_z += c.log_z;
    out.mean[i] = c.first;
    if (has_two) out.mean[dimension + i] = c.second;
  }
  return out;
}

// log(4 pi sinh(kappa) / kappa); E u = (coth kappa - 1 / kappa) eta / kappa.
ClosedForm fisher_form(std::span<const double> eta) {
  const double kappa = std::hypot(eta[0], eta[1], eta[2]),
               share = kappa > 0 ? fisher_mean(kappa) / kappa : 1.0 / 3;
  return {fisher_log_normalizer(kappa), {share * eta[0], share * eta[1], share * eta[2]}};
}

}  // namespace

std::optional<ClosedForm> ExponentialFamily::closed_form(std::span<const double> eta) const {
  const std::string violation = domain_.violation(eta);
  if (!violation.empty()) throw Error(plan_.word + ": " + violation);
  if (plan_.word == "gaussian") return gaussian_form(statistics_, eta, dimension());
  if (plan_.word == "truncated-gaussian") return truncated_gaussian_form(statistics_, eta, support_);
  if (plan_.word == "von-mises-fisher") return fisher_form(eta);
  if (plan_.word == "ising" || plan_.word.starts_with("family:") || !space_of_family(plan_.word).empty())
    return std::nullopt;
  return product_form(plan_.word, eta, dimension());
}

}  // namespace selfnorm
