// Families over angles and on the sphere: log Z against closed forms and sums over grids.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "model/energy/energy_check.h"
#include "model/energy/exponential_family.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kPi = std::numbers::pi;

ExponentialFamily family_with(const char* word, std::vector<double> eta) {
  ExponentialFamily out({word, 2});
  out.set_eta(eta);
  return out;
}

// The midpoint rule over [-pi, pi] x [low, high].
double log_sum(const Energy& energy, double low, double high, size_t cells) {
  std::vector<float> x;
  for (size_t i = 0; i < cells; ++i)
    for (size_t j = 0; j < cells; ++j) {
      const double a = (static_cast<double>(i) + 0.5) / static_cast<double>(cells),
                   b = (static_cast<double>(j) + 0.5) / static_cast<double>(cells);
      x.insert(x.end(), {static_cast<float>(kPi * (2 * a - 1)), static_cast<float>(low + (high - low) * b)});
    }
  double sum = 0;
  for (const double s : scores(energy, x)) sum += std::exp(s);
  return std::log(sum * 2 * kPi * (high - low) / static_cast<double>(cells * cells));
}

TEST(VonMisesFisher, ClosedFormIsTheIntegral) {
  for (const std::vector<double>& eta :
       {std::vector<double>{0, 0, 0}, {0.5, -1, 0.25}, {0, 0, 4}, {6, -2, -3}}) {
    const ExponentialFamily family = family_with("von-mises-fisher", eta);
    const double kappa = std::hypot(eta[0], eta[1], eta[2]);
    const double log_z = *family.log_z(family.eta());
    EXPECT_NEAR(log_z, std::log(4 * kPi) + (kappa > 0 ? std::log(std::sinh(kappa) / kappa) : 0), 1e-6);
    EXPECT_NEAR(log_z, log_sum(family, -1, 1, 400), 2e-4);
    // Its gradient is the mean.
    for (size_t k = 0; k < 3; ++k) {
      std::vector<double> up = family.eta(), down = up;
      up[k] += 1e-4;
      down[k] -= 1e-4;
      EXPECT_NEAR((*family.mean(family.eta()))[k], (*family.log_z(up) - *family.log_z(down)) / 2e-4, 1e-6);
    }
  }
}

// kappa gamma_1 . u + beta ((gamma_2 . u)^2 - (gamma_3 . u)^2) as coefficients of u and of u_0^2, u_1^2, u_0
// u_1, u_0 u_2, u_1 u_2; what is left of the squares is a constant times u . u = 1.
ExponentialFamily kent(double kappa, double beta, double turn, double tilt, double spin, double& constant) {
  // Columns of a rotation: about z by `spin`, about x by `tilt`, about z by `turn`.
  const double c1 = std::cos(turn), s1 = std::sin(turn), c2 = std::cos(tilt), s2 = std::sin(tilt),
               c3 = std::cos(spin), s3 = std::sin(spin);
  const double g2[] = {c1 * c3 - s1 * c2 * s3, s1 * c3 + c1 * c2 * s3, s2 * s3};
  const double g3[] = {-c1 * s3 - s1 * c2 * c3, -s1 * s3 + c1 * c2 * c3, s2 * c3};
  const double g1[] = {s1 * s2, -c1 * s2, c2};
  const auto entry = [&](size_t i, size_t j) { return beta * (g2[i] * g2[j] - g3[i] * g3[j]); };
  constant = entry(2, 2);
  return family_with("fisher-bingham",
                     {kappa * g1[0], kappa * g1[1], kappa * g1[2], entry(0, 0) - constant,
                      entry(1, 1) - constant, 2 * entry(0, 1), 2 * entry(0, 2), 2 * entry(1, 2)});
}

// Z = 2 pi sum_j Gamma(j + 1/2) / Gamma(j + 1) beta^2j (kappa / 2)^(-2j - 1/2) I_(2j+1/2)(kappa) (Kent 1982).
double kent_log_z(double kappa, double beta) {
  double sum = 0;
  for (int j = 0; j < 60; ++j)
    sum += std::exp(std::lgamma(j + 0.5) - std::lgamma(j + 1.0) + 2 * j * std::log(beta) -
                    (2 * j + 0.5) * std::log(kappa / 2)) *
           std::cyl_bessel_i(2 * j + 0.5, kappa);
  return std::log(2 * kPi * sum);
}

TEST(FisherBingham, KentsDistributionHasKentsNormalizer) {
  for (const auto& [kappa, beta] : {std::pair(2.0, 0.5), std::pair(6.0, 2.0), std::pair(3.0, 4.0)}) {
    for (const double tilt : {0.0, 0.9}) {
      double constant = 0;
      const ExponentialFamily family = kent(kappa, beta, 0.7, tilt, -0.4, constant);
      const double known = kent_log_z(kappa, beta) - constant;
      EXPECT_NEAR(log_sum(family, -1, 1, 400), known, 5e-4);
    }
  }
}

// Z = 4 pi^2 sum_m C(2m, m) (lambda^2 / (4 kappa_1 kappa_2))^m I_m(kappa_1) I_m(kappa_2) (Singh et al. 2002).
double sine_log_z(double first, double second, double lambda) {
  double sum = 0;
  for (int m = 0; m < 60; ++m)
    sum += std::exp(std::lgamma(2 * m + 1.0) - 2 * std::lgamma(m + 1.0) +
                    m * std::log(lambda * lambda / (4 * first * second))) *
           std::cyl_bessel_i(m, first) * std::cyl_bessel_i(m, second);
  return std::log(4 * kPi * kPi * sum);
}

TEST(BivariateVonMises, TheSineModelHasItsNormalizer) {
  for (const double lambda : {0.3, 2.0, -4.0}) {
    const double k1 = 1.5, k2 = 3, mu = 0.6, nu = -2;
    const double c1 = std::cos(mu), s1 = std::sin(mu), c2 = std::cos(nu), s2 = std::sin(nu);
    // lambda sin(x - mu) sin(y - nu); the order is cos, cos, sin, sin, cc, cs, sc, ss.
    const ExponentialFamily family =
        family_with("bivariate-von-mises", {k1 * c1, k2 * c2, k1 * s1, k2 * s2, lambda * s1 * s2,
                                            -lambda * s1 * c2, -lambda * c1 * s2, lambda * c1 * c2});
    const double known = sine_log_z(k1, k2, lambda);
    EXPECT_NEAR(log_sum(family, -kPi, kPi, 200), known, 1e-5);
    EXPECT_EQ(family.support().wraps, (std::vector<bool>{true, true}));
  }
}

TEST(DirectionalFamilies, Derivatives) {
  RandomStream random(4);
  for (const char* word : {"bivariate-von-mises", "von-mises-fisher", "fisher-bingham"}) {
    SCOPED_TRACE(word);
    ExponentialFamily family({word, 2});
    std::vector<double> eta(family.count());
    for (double& e : eta) e = random.normal();
    family.set_eta(eta);
    expect_parameter_gradient(family, {0.5f, 0.25f, -2, -0.75f, 3, 0.5f});
    expect_point_derivatives(family, {0.5f, 0.25f, -2, -0.75f}, {1, 0.5f, -0.25f, 0.25f});
  }
  EXPECT_THROW(ExponentialFamily({"fisher-bingham", 3}), Error);
}

}  // namespace
}  // namespace selfnorm
