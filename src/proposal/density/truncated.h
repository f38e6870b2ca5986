// A density of real numbers cut off at a box: q(x) = q_0(x) / m inside, 0 outside, m = the mass of the box
// under q_0. Drawn by rejection, so draws are exact. m is the share of `kMassDraws` draws of q_0 that are
// inside, and known up to log_error(); where no draw is outside it is 1.
#pragma once

#include "proposal/density/density.h"

namespace selfnorm {

class Truncated final : public Density {
 public:
  static constexpr uint64_t kMassDraws = 1 << 17;
  static constexpr double kLeastMass = 1e-3;

  // Throws Error unless `inner` is over all real numbers, the box is one of its dimension and has at least
  // kLeastMass of it.
  Truncated(std::shared_ptr<const Density> inner, const Support& box, uint64_t seed);
  Truncated(std::shared_ptr<const Density> inner, const Support& box, double log_mass, double log_error);

  const Density& inner() const { return *inner_; }
  double log_mass() const { return log_mass_; }

  uint32_t dimension() const override { return inner_->dimension(); }
  Support support() const override { return box_; }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  double log_error() const override { return log_error_; }
  // "KIND.NAME" for the numbers NAME of `inner`; lower, upper, has_lower, has_upper, mass (log, error).
  DensityRecord record() const override;

 private:
  void check() const;

  std::shared_ptr<const Density> inner_;
  Support box_;
  double log_mass_ = 0, log_error_ = 0;
};

// The same density where the space has no box, or its support is inside of it.
std::unique_ptr<Density> truncated_to(const Support& space, std::unique_ptr<Density> density, uint64_t seed);

std::unique_ptr<Density> restore_truncated(const DensityRecord& record, uint32_t dimension);

}  // namespace selfnorm
