// Student's t with `dof` degrees of freedom nu, location m and scale W'W = S^-1:
//     log q = c - (nu + d)/2 log(1 + |z|^2 / nu),  z = W (x - m)
//     grad log q = -u W'z,  v' Hessian v = -u |W v|^2 + 2 u^2 (z . W v)^2 / (nu + d),  u = (nu + d)/(nu +
//     |z|^2)
#pragma once

#include "proposal/density/density.h"
#include "proposal/density/precision_root.h"

namespace selfnorm {

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
  double whitened(std::span<const float> x, std::vector<double>& z) const;  // returns |z|^2
  double log_density(double square) const;

  double dof_;
  std::vector<double> location_;
  PrecisionRoot root_;
  double constant_;
};

// By maximum likelihood for given dof: EM with the weights u (Lange, Little & Taylor 1989).
std::unique_ptr<StudentT> fit_student_t(const Points& data, double dof);
std::unique_ptr<Density> restore_student_t(const DensityRecord& record,
                                           uint32_t dimension);  // dof, location, root

}  // namespace selfnorm
