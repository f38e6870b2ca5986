// q(x) = prod_p q(x_o(p) | x_o(0) .. x_o(p-1)): every column given those before it in an order o, by one
// masked network (MADE, Germain et al. 2015) from all columns to the parameters of all conditionals
// (conditional_head.h): log q and draws are exact. Hidden units have degrees 1 .. d-1, in rising order: one
// of degree m sees the columns before place m and the units of degrees up to m; the conditional at place p
// sees the units of degrees up to p and, linearly, the columns before it:
//     t_p = W h + c + D x_<p.
// So all weights that are not 0 are leading parts of rows, and a block of draws costs one pass: at place p
// only the units of degree p are new.
#pragma once

#include "network/network.h"
#include "proposal/autoregressive/conditional_head.h"
#include "proposal/density/density.h"

namespace selfnorm {

class Autoregressive final : public Density {
 public:
  struct Shape {
    std::vector<ConditionalHead> heads;  // of every column
    std::vector<uint32_t> order;         // the column at every place
    std::vector<uint32_t> widths;        // of the hidden layers, at least one
    // Of every column: what later ones see of a real one is cut to this, so that draws beyond the data are
    // no inputs the network never saw; empty: it is not.
    std::vector<float> lower = {}, upper = {};
  };

  // Parameters 0. Throws Error unless `order` is a permutation.
  explicit Autoregressive(Shape shape);

  const Shape& shape() const { return shape_; }
  // Those of the network, then D (outputs x inputs). Masked ones are 0.
  size_t parameters() const { return mask_.size(); }
  std::vector<float> theta() const;
  void set_theta(std::span<const float> theta);
  std::span<const uint8_t> mask() const { return mask_; }  // 1: free
  void draw_start(const Points& data, uint64_t seed);      // marginals, and small random weights

  // Columns that the conditionals do not see, by chance; those they see are larger by 1 / (1 - chance).
  struct Dropout {
    double chance = 0;
    uint64_t seed = 0;
  };
  // The mean of log q over the rows, and gradient += its derivative by theta. The rows are inside the
  // support.
  double add_gradient(const Points& x, std::span<float> gradient, const Dropout& dropout) const;

  uint32_t dimension() const override { return static_cast<uint32_t>(shape_.order.size()); }
  Support support() const override { return support_; }
  void sample(RandomStream& random, std::span<float> rows) const override;
  void log_prob(const Points& x, std::span<double> out) const override;
  void log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const override;
  // Throws Error: there are no second derivatives.
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  DensityRecord record() const override;

 private:
  const ConditionalHead& head(size_t place) const { return shape_.heads[shape_.order[place]]; }
  size_t inputs() const { return in_.back(); }
  size_t outputs() const { return out_.back(); }
  std::vector<float> features(const Points& x) const;
  bool is_cut(size_t place, float x) const;
  void input(size_t place, float x, float* out) const;
  // t += D x of rows of features.
  void add_direct(std::span<const float> x, std::span<float> t) const;

  Shape shape_;
  Support support_;
  std::vector<size_t> in_, out_;  // where the inputs and parameters of each place begin, and their numbers
  std::vector<size_t>
      units_;  // of degrees up to p, in each hidden layer: layer after layer, place after place
  Network network_;
  std::vector<float> direct_;
  std::vector<uint8_t> mask_;
};

// order, kind, count (of every column), widths, theta; lower, upper (of every column, or neither)
std::unique_ptr<Density> restore_autoregressive(const DensityRecord& record, uint32_t dimension);

}  // namespace selfnorm
