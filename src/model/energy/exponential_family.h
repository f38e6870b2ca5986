// Exponential families s(x) = eta . T(x) + log h(x), with eta as the parameters of an Energy.
//   gaussian            R^d        x, x2, xx         closed form
//   truncated-gaussian  a box      x, x2, xx         closed form where P is diagonal and positive
//   exponential         x >= 0     x                 closed form; a product over coordinates
//   gamma               x >= 0     log, x            closed form; product
//   von-mises           [-pi, pi]  cos, sin          closed form; product
//   bivariate-von-mises angles     cos, sin, cc, cs, sc, ss   quadrature (two angles); the sine and cosine
//   models
//                                  are those with a coupling of rank 1 (Mardia 1975)
//   von-mises-fisher    the sphere u                 log Z = log(4 pi sinh(kappa) / kappa), kappa = |eta|
//   fisher-bingham      the sphere u, uu             quadrature; Kent's distribution has one axis for u and
//                                  two opposite eigenvalues across it
//   poisson             counts     x; h = 1 / x!     closed form; product
//   bernoulli           binary     x                 closed form; product
//   ising               binary     x, xx             by enumeration (normalizer/point_enumeration.h)
//   family:names        R^d or box names of model/energy/natural_domain.h, "family:x,x2,x4"
// eta holds the coefficients of the first statistic for every coordinate, then those of the second, ...; for
// xx, of the pairs (0,1), (0,2), ..., (d-2,d-1). Ising spins sigma = 2x - 1 with s = sum J_ij sigma_i sigma_j
// + sum h_i sigma_i have eta_xx = 4 J and eta_x = 2 h - 2 sum_j J_ij. Outside the support s = -inf.
#pragma once

#include <memory>
#include <optional>

#include "model/energy/energy.h"
#include "model/energy/natural_domain.h"

namespace selfnorm {

struct ClosedForm {
  double log_z = 0;
  std::vector<double> mean;  // E T
};

struct FamilyPlan {
  std::string word;  // as above
  uint32_t dimension = 1;
  std::vector<double> lower = {}, upper = {};  // truncated-gaussian, family: the box; empty: none
};

class ExponentialFamily final : public Energy {
 public:
  explicit ExponentialFamily(const FamilyPlan& plan);  // throws Error naming what is wrong

  size_t count() const { return statistics_.size(); }
  std::span<const Statistic> terms() const { return statistics_; }       // what T consists of
  void statistics(std::span<const float> x, std::span<double> t) const;  // T(x), in x alone
  double log_carrier(std::span<const float> x) const;                    // log h(x)

  // Of a valid eta, where there is a closed form: A(eta), and its gradient E T.
  std::optional<double> log_z(std::span<const double> eta) const;
  std::optional<std::vector<double>> mean(std::span<const double> eta) const;

  const NaturalDomain& domain() const { return domain_; }
  std::vector<double> eta() const { return eta_; }
  // Throws Error when eta is not valid. The parameters are eta rounded to float.
  void set_eta(std::span<const double> eta);

  uint32_t dimension() const override { return plan_.dimension; }
  Support support() const override { return support_; }
  std::span<float> parameters() override { return theta_; }
  std::span<const float> parameters() const override { return theta_; }
  // Projects eta into the domain, so that steps of any optimiser end in a model that can be normalised.
  void parameters_changed() override;
  std::unique_ptr<EnergyPass> make_pass() const override;
  void score(const Points& x, std::span<double> s) const override;
  void score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  void directional_backward(const Points& x, const Points& v, std::span<const double> d_first,
                            std::span<const double> d_second, std::span<float> gradient) const override;
  EnergyRecord record() const override;

 private:
  friend class FamilyPass;
  // T(x_i) and s(x_i); outside the support T = 0 and s = -inf.
  double row(std::span<const float> x, std::span<double> t) const;
  std::optional<ClosedForm> closed_form(std::span<const double> eta) const;

  FamilyPlan plan_;
  Support support_;
  std::vector<Statistic> statistics_;
  NaturalDomain domain_;
  std::vector<double> eta_;
  std::vector<float> theta_;
};

// The space that a family has to be told: "torus", "sphere", or none.
std::string space_of_family(const std::string& word);

std::vector<std::string> exponential_family_names();  // without arguments: gaussian, ..., ising, family
// Throws Error for a word that is none of them or names a statistic that is none.
void check_family_word(const std::string& word);
// From its record. Throws Error when it is damaged.
std::unique_ptr<ExponentialFamily> make_exponential_family(const EnergyRecord& record);

}  // namespace selfnorm
