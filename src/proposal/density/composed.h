// Densities made of others: stacked, and cut off at a box.
#pragma once

#include "proposal/density/density.h"

namespace selfnorm {

// A weighted sum of densities, q(x) = sum_m w_m q_m(x), with weights by expectation maximisation on rows that
// had no part in the members (stacking, Smyth & Wolpert 1999): on those rows never less likely than the best
// member. With shares r_m = w_m q_m / q:
//     grad log q = sum_m r_m grad log q_m,
//     v' Hessian v = sum_m r_m (h_m + g_m^2) - (sum_m r_m g_m)^2,   g_m, h_m the derivatives of log q_m along
//     v.
class Stacked final : public Density {
 public:
  // Throws Error unless there are members of one dimension and support, and a positive weight for each.
  Stacked(std::vector<std::shared_ptr<const Density>> members, std::vector<double> weight);

  const std::vector<std::shared_ptr<const Density>>& members() const { return members_; }
  const std::vector<double>& weights() const { return weight_; }  // in proportion

  uint32_t dimension() const override { return members_.front()->dimension(); }
  Support support() const override { return members_.front()->support(); }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  double log_error() const override;  // the largest of the members'
  // "M.KIND.NAME" for the numbers NAME of member M, and "weight".
  DensityRecord record() const override;

 private:
  // log q of n rows and, in place of the log-densities of the members (members x n), their shares.
  void fill_shares(std::span<double> member, std::span<double> log_q) const;

  std::vector<std::shared_ptr<const Density>> members_;
  std::vector<double> weight_, log_weight_, cumulative_;
};

// log_q: members x n. Those that every row is impossible under get 0.
std::vector<double> stacking_weights(std::span<const double> log_q, size_t members);

std::unique_ptr<Density> restore_stacked(const DensityRecord& record, uint32_t dimension);

// A density of real numbers cut off at a box: q(x) = q_0(x) / m inside, 0 outside, m = the mass of the box
// under q_0. Drawn by rejection, so draws are exact. m is the share of `kMassDraws` draws of q_0 that are
// inside, and known up to log_error(); where no draw is outside it is 1.
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
