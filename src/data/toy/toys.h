// Distributions with known density and entropy, to measure against. z ~ N(0, 1) and u ~ U(0, 1), independent.
//   checkerboard     x1 = 4 u - 2, x2 = u - 2 Bernoulli(1/2) + (floor x1 mod 2), both times 2
//   four-circles     centre (+-1, +-1), angle 2 pi u, radius 2, plus .1 (z1, z2)
//   funnel           x1 = z1, x2 = exp(x1 / 2) z2
//   pinwheel         (1 + .3 z1, .05 z2), at distance r of the origin, rotated by 2 pi k / 5 +
//                    .25 exp(r), k uniform on 0 .. 4. (The usual one rotates by .25 exp(1 + .3 z1), which is
//                    no measure-preserving map; r differs from it by the tangential part alone.)
//   two-moons        t = pi u; (cos t, sin t) or (1 - cos t, 1/2 - sin t), plus .1 (z1, z2)
//   eight-gaussians  (2 sqrt 2) (cos, sin)(pi k / 4) + (z1, z2) / (2 sqrt 2), k uniform on 0 .. 7
//   ring             angle 2 pi u, radius 2, plus .1 (z1, z2)
//   spirals          t = 3 pi sqrt u; +-(-t cos t, t sin t) / 3, plus .1 (z1, z2)
//   mixture          d >= 1: eight Gaussians of standard deviation 1/2 and equal weight, their means spread
//                    in all dimensions, the nearest two 5 apart; the same for every seed
//   gaussian         d >= 1: x_1 = z_1, x_j = (x_{j-1} + sqrt 3 z_j) / 2
//   ising[:seed]     1 <= d <= 20 binary vectors with the parameters of ising_parameters(d, seed);
//                    seed 0 by default
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/points/points.h"
#include "math/random.h"

namespace selfnorm {

class Toy {
 public:
  virtual ~Toy() = default;

  virtual uint32_t dimension() const = 0;
  virtual Support support() const { return Support::reals(); }
  virtual void draw(RandomStream& random, std::span<float> x) const = 0;  // one point
  // log p(x); -inf where there is none. Curves: the noise integrated over the curve to 1e-7.
  virtual double log_density(std::span<const float> x) const = 0;
  // -E log p in nats: closed form, enumeration or quadrature, to 1e-5. Computed at each call.
  virtual double entropy() const = 0;
};

std::vector<std::string> toy_names();  // without their arguments

// Dimension 0: the one it has, 2 for mixture and gaussian, 10 for ising. Throws Error for a name that is none
// of them or a dimension that it cannot have.
std::unique_ptr<Toy> make_toy(const std::string& word, uint32_t dimension = 0);

// Row-major; the same bits for any number of threads.
std::vector<float> sample_toy(const Toy& toy, uint64_t rows, uint64_t seed);
void toy_log_density(const Toy& toy, const Points& x, std::span<double> out);

// p(x) proportional to exp(sum_j bias_j x_j + sum_{i<j} coupling_ij x_i x_j), x in {0, 1}^d. With spins
// s = 2 x - 1 it is exp(sum_j h_j s_j + sum_{i<j} J_ij s_i s_j), h_j ~ N(0, .3^2), J_ij ~ N(0, 1 / d).
struct IsingParameters {
  std::vector<double> bias;      // d
  std::vector<double> coupling;  // i < j, row by row: (0,1), (0,2), ..., (1,2), ...
};
IsingParameters ising_parameters(uint32_t dimension, uint64_t seed);

}  // namespace selfnorm
