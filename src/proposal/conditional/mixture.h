// A mixture density of y given x: what a network says of x is a row of parameters
//     logit_k (K),   mean_kj (K x d),   raw_kj (K x d),   sd_kj = spread (least_scale + softplus(raw_kj)),
//     q(y|x) = sum_k pi_k prod_j N(y_j; mean_kj, sd_kj) [y in the support] / mass_kj,
// mass_kj being what the normal has inside [lower_j, upper_j]. A broad component g, the same for every x
// (normal, broad_mean and broad_scale, cut to the support), is mixed in with a weight w that the caller says:
//     q_w = (1 - w) q + w g:
// as defence of the proposal (importance weights against q_w are bounded), or as tail of a model.
// y are standardised, double parameters inside; everything in log space, finite for all finite parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/points/points.h"
#include "math/random.h"
#include "proposal/conditional/truncated_normal.h"

namespace selfnorm {

struct MixtureShape {
  uint32_t dimension = 1, components = 1;
  double least_scale = 1e-3;
  std::vector<double> lower, upper;  // of every coordinate, may be infinite; empty: all of R^d
  double broad_mean = 0, broad_scale = 3;
  double spread = 1;  // of every component

  uint32_t parameters() const { return components * (1 + 2 * dimension); }
};

// y_i belongs to the row of parameters row[i], which does not decrease.
struct MixturePoints {
  Points parameters;  // rows x shape.parameters()
  Points y;
  std::span<const uint32_t> row;
};

class ConditionalMixture {
 public:
  explicit ConditionalMixture(MixtureShape shape);  // throws Error for sizes or bounds that make no sense
  const MixtureShape& shape() const { return shape_; }

  // log q(y_i|x) and log g(y_i), either may be empty; -inf outside the support, for y that are not finite as
  // well. log q is NaN for a row of parameters that are not all finite, and so are derivatives and draws.
  void log_prob(const MixturePoints& at, std::span<double> log_q, std::span<double> log_g) const;
  // d (rows x parameters) += sum_i weight_i d log q_w(y_i|x) / d parameters of y_i inside, as float32.
  void add_gradient(const MixturePoints& at, double w, std::span<const double> weight,
                    std::span<float> d) const;
  // `each` draws of q_w for every row of parameters, row after row: stream i of `seed` for row i.
  void sample(const Points& parameters, uint64_t each, double w, uint64_t seed, std::span<float> y) const;
  // Without bounds: the numbers that these draws of so many rows are made of, `each` x dimension normals and
  // `each` choices a row: in [0, 1), which component; below 0: the broad one.
  void sample_numbers(uint64_t rows, double w, uint64_t seed, std::span<double> choice,
                      std::span<double> normal) const;
  // Draws of q_w given that they are in [from, to], which is inside the support and may be infinite; one
  // dimension. By Fisher's identity the mean over them of d log q_w(y) is that of the log mass of the
  // interval.
  struct Between {
    double from, to;
  };
  void sample_between(std::span<const float> parameters, double w, const Between& between,
                      RandomStream& random, std::span<float> y) const;
  // d log q_w / dy (n x d), and first and second derivative along v (either may be empty); 0 outside.
  void log_prob_gradient(const MixturePoints& at, double w, std::span<double> dy) const;
  void directional(const MixturePoints& at, const Points& v, double w, std::span<double> first,
                   std::span<double> second) const;

  // A start for the output bias of the network: equal weights, every component the mean and 1.5 standard
  // deviations of one of K equal cells of y, cut again and again along the coordinate that varies most; in
  // one dimension these are its K quantile ranges. y: finite, at least one row.
  std::vector<float> start(const Points& y) const;

  // mean, sd and pi of the components of one row: where mass may be.
  struct Component {
    double weight;
    std::vector<double> mean, scale;
  };
  std::vector<Component> components(std::span<const float> parameters) const;

  bool is_bounded() const { return !shape_.lower.empty(); }
  std::span<const TruncatedNormal> broad() const { return broad_; }  // of every coordinate
  std::span<const float> least() const { return least_; }            // smallest float32 of the support
  // As a float32 of the support: the nearest one.
  float within(double y, uint32_t j) const;
  std::span<const float> most() const { return most_; }  // largest

 private:
  MixtureShape shape_;  // lower and upper are empty when no bound is finite
  std::vector<TruncatedNormal> broad_;
  std::vector<float> least_, most_;
};

// log((1 - w) e^log_q + w e^log_g); w in [0, 1].
double broadened(double log_q, double log_g, double w);
// log_q_i <- broadened(log_q_i, log_g_i, w) in bulk.
void broaden(std::span<double> log_q, std::span<const double> log_g, double w);

}  // namespace selfnorm
