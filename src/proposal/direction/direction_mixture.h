// Mixtures over points with angles (data/points/direction_map.h): von Mises-Fisher distributions on the
// sphere, products of von Mises distributions (angles), normals (real coordinates) and shares of levels on
// the torus and in mixed tables,
//     q(x) = sum_k exp(c_k + eta_k . phi(x)),      phi the map's features and -x^2/2 for real coordinates;
//     angle   eta = kappa (cos mu, sin mu),   log-normalizer log(2 pi I_0(kappa))
//     sphere  eta = kappa mu,                 log(4 pi sinh(kappa) / kappa)
//     real    eta = (m, 1) / s^2,             m^2 / (2 s^2) + log s + log(2 pi) / 2
//     levels  eta_l = log(theta_l / theta_0), log(1 + sum_l exp eta_l)
// Kernels are mixtures of one concentration around the rows. By EM from k-means++ in phi: kappa solves
// I_1/I_0 = R or coth(kappa) - 1/kappa = R, R = (|sum p phi| + R_0) / (n_k + 1), s^2 = (sum p (x - m)^2 +
// s_0^2) / (n_k + 1), as if every component had seen one more row of spread 1 - R_0 = (1 - R) / K^(2/d),
// s_0^2 likewise, R and s of all rows; theta_l = (n_kl + share_l) / (n_k + 1), share_l that of all rows.
#pragma once

#include "data/points/direction_map.h"
#include "proposal/density/density.h"

namespace selfnorm {

class DirectionMixture final : public Density {
 public:
  // What of phi belongs to one column (of the sphere: to both).
  struct Coordinate {
    enum class Kind { real, angle, sphere, levels };
    Kind kind;
    size_t column, feature, size;  // its first feature, and their number
  };
  static std::vector<Coordinate> coordinates(const DirectionMap& map);

  // eta: K x features. Throws Error unless the sizes agree and all is finite, precisions positive.
  DirectionMixture(DirectionMap map, std::vector<double> log_weight, std::vector<double> eta);

  size_t components() const { return log_weight_.size(); }
  const std::vector<double>& eta() const { return eta_; }
  static uint32_t features(const DirectionMap& map);
  // c (K) and eta transposed (features x K).
  void terms(std::span<double> start, std::span<double> eta) const;
  // phi of a row.
  static void apply(const DirectionMap& map, const float* x, double* out);
  static double log_normalizer(const DirectionMap& map, const double* eta);

  uint32_t dimension() const override { return map_.dimension(); }
  Support support() const override { return map_.support(); }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  DensityRecord record() const override;

 private:
  void require_derivatives() const;  // Bug where there are levels
  // body(i, log q, shares) for every row.
  template <class Body>
  void for_rows(const Points& x, const Body& body) const;

  DirectionMap map_;
  std::vector<Coordinate> at_;
  std::vector<double> logit_, log_weight_, eta_, constant_, cumulative_;
  std::vector<double> transposed_;  // features x K
};

// Flat; real coordinates, of which there may be none, throw Error.
std::unique_ptr<DirectionMixture> uniform_directions(const DirectionMap& map);

struct DirectionFitOptions {
  uint32_t components = 16;
  uint64_t iterations = 100;
  double tolerance = 1e-4;
  uint64_t rows = 20'000;  // of more, a random choice
  uint64_t seed = 0;
};
struct DirectionFit {
  std::unique_ptr<DirectionMixture> density;
  std::vector<double> trace;  // the log-likelihood per row, by iteration
};
// Rows inside the support of the map.
DirectionFit fit_direction_mixture(const Points& data, const DirectionMap& map,
                                   const DirectionFitOptions& options);

// Kernels around at most 10,000 rows, of this concentration c (of real coordinates: 1 / s^2 in units of their
// variance; of levels: a share of 1 / (1 + c) is that of all rows), or of the one under which a fifth of them
// is most likely given the others (0).
std::unique_ptr<DirectionMixture> fit_direction_kernels(const Points& data, const DirectionMap& map,
                                                        double concentration, uint64_t seed);
double kernel_concentration(const Points& data, const DirectionMap& map, uint64_t seed);

// Kernels that are narrow where rows lie close (Breiman, Meisel & Purcell 1977), for each of `neighbours`:
// around row i of the concentration 4 / d_i^2, d_i the distance to its k-th nearest other row, of unit
// vectors and in standard deviations of real coordinates. Of many rows or features around fewer of them.
std::vector<std::unique_ptr<DirectionMixture>> fit_neighbour_kernels(const Points& data,
                                                                     const DirectionMap& map,
                                                                     std::span<const uint32_t> neighbours,
                                                                     uint64_t seed);

// log_weight, eta, is_angle (2: the sphere), levels (where there are any)
std::unique_ptr<Density> restore_direction_mixture(const DensityRecord& record, uint32_t dimension);

// Von Mises distributions on the circle: exp(kappa cos(x - mu)) / (2 pi I_0(kappa)); von Mises-Fisher ones on
// the sphere: kappa exp(kappa mu . u) / (4 pi sinh kappa).

// x in [-pi, pi), back into it.
double wrapped_angle(double x);

// In [-pi, pi) (Best & Fisher 1979); kappa >= 0.
double von_mises_draw(RandomStream& random, double mu, double kappa);

// kappa with I_1/I_0(kappa) = r, 0 <= r < 1, by Newton's method; at most `most`.
double von_mises_concentration(double r, double most);

// log(4 pi sinh(kappa) / kappa), kappa >= 0, and the mean of mu . u, coth(kappa) - 1 / kappa.
double fisher_log_normalizer(double kappa);
double fisher_mean(double kappa);
// kappa with that mean, 0 <= r < 1; at most `most`.
double fisher_concentration(double r, double most);

}  // namespace selfnorm
