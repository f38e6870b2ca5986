// Gaussians and Student's t: functions of |z|, z = W (x - centre) with W a PrecisionRoot.
#pragma once

#include "proposal/density/density.h"
#include "proposal/density/precision_root.h"

namespace selfnorm {

// N(mean, covariance), the covariance full or diagonal. Parameters: mean, then those of the PrecisionRoot.
//     grad log q = -W'z,  v' Hessian v = -|W v|^2,  d log q / d mean = W'z,  z = W (x - mean)
class Gaussian final : public LearnableDensity {
 public:
  Gaussian(std::vector<double> mean, PrecisionRoot root);

  const std::vector<double>& mean() const { return mean_; }
  const PrecisionRoot& root() const { return root_; }

  uint32_t dimension() const override { return root_.dimension(); }
  Support support() const override { return Support::reals(); }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  DensityRecord record() const override;

  std::vector<double> parameters() const override;
  void set_parameters(std::span<const double> values) override;
  void add_gradient(const Points& x, std::span<const double> weight,
                    std::span<double> gradient) const override;

 private:
  std::vector<double> mean_;
  PrecisionRoot root_;
};

// By maximum likelihood, with the ridge of fitted_root.
std::unique_ptr<Gaussian> fit_gaussian(const Points& data, PrecisionRoot::Shape shape);
// "gaussian": mean, root (packed rows); "gaussian-diagonal": mean, root (the diagonal).
std::unique_ptr<Density> restore_gaussian(const DensityRecord& record, uint32_t dimension);

// Student's t with `dof` degrees of freedom nu, location m and scale W'W = S^-1:
//     log q = c - (nu + d)/2 log(1 + |z|^2 / nu),  z = W (x - m)
//     grad log q = -u W'z,  v' Hessian v = -u |W v|^2 + 2 u^2 (z . W v)^2 / (nu + d),  u = (nu + d)/(nu +
//     |z|^2)
class StudentT final : public Density {
 public:
  // dof > 0 and finite, or Error.
  StudentT(double dof, std::vector<double> location, PrecisionRoot root);

  double dof() const { return dof_; }
  const std::vector<double>& location() const { return location_; }
  const PrecisionRoot& root() const { return root_; }

  double weigh(const Points& x, std::span<double> weight) const;  // u of every row; returns sum_i log q(x_i)

  uint32_t dimension() const override { return root_.dimension(); }
  Support support() const override { return Support::reals(); }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  DensityRecord record() const override;

 private:
  double log_density(double square) const;

  double dof_;
  std::vector<double> location_;
  PrecisionRoot root_;
  double constant_;
};

// By maximum likelihood for given dof: EM with the weights u (Lange, Little & Taylor 1989).
std::unique_ptr<StudentT> fit_student_t(const Points& data, double dof);
// dof, location, root
std::unique_ptr<Density> restore_student_t(const DensityRecord& record, uint32_t dimension);

}  // namespace selfnorm
