// An energy that is a sum of energies on lines, of every column given those before it,
//     s(x) = sum_i s_i(x_i; x_<i) - b_i(x_<i),      s_i = f_i(x_i; x_<i) + log q_i(x_i | x_<i),
//     p(x) = exp(s(x) - R(x)),   R(x) = sum_i A_i(x_<i) - b_i(x_<i),   A_i(x_<i) = log int exp s_i dx_i.
// Normalised so it has no log Z of all columns: A_i are integrals on a line each
// (normalizer/quadrature/line_sum.h), for which b_i stand while and after it is trained. s_i and b_i are a
// member of a regressor (model/regressor/regressor.h) of column i with the columns before it as inputs, cut
// to the range that they had in training: what a network says beyond that has nothing to do with the data.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/energy/energy.h"
#include "model/regressor/regressor.h"

namespace selfnorm {

class AutoregressiveEnergy final : public Energy {
 public:
  struct Shape {
    uint32_t dimension = 1;
    std::vector<uint32_t> features = {64, 64};  // widths of the networks of x_<i
    std::vector<uint32_t> tilt = {32, 32};      // of f
    std::vector<uint32_t> normalizer = {32};    // hidden ones of b
    uint32_t components = 8;                    // of q
    double tail_weight = 0.01;                  // of the broad component of q
  };

  AutoregressiveEnergy(Shape shape, uint64_t seed);  // f = 0 and b = 0; throws Error for a shape that is none
  // Throws Error when it is damaged.
  explicit AutoregressiveEnergy(const EnergyRecord& record);

  // Where every q_i starts, and the ranges of the columns: those of these rows, at least one.
  void start_at(const Points& x);

  const Shape& shape() const { return shape_; }
  const RegressorNetworks& networks(uint32_t column) const { return columns_[column].members[0]; }
  ConditionalMixture mixture(uint32_t column) const { return ConditionalMixture(columns_[column].mixture); }
  // The networks of column i have the parts [kParts i, kParts (i + 1)) of parameters(): those of features,
  // mixture_head, context, tilt, normalizer.
  static constexpr size_t kParts = 5;
  const FlatParameters& blocks() const { return blocks_; }
  // All of a column, of as many numbers as there are parameters.
  template <class T>
  std::span<T> of_column(uint32_t column, std::span<T> flat) const {
    const size_t begin = blocks_.offset(kParts * column);
    const size_t end = column + 1 == shape_.dimension ? flat.size() : blocks_.offset(kParts * (column + 1));
    return flat.subspan(begin, end - begin);
  }

  // What the networks of a column see of these rows.
  uint32_t inputs(uint32_t column) const { return column == 0 ? 1 : column; }
  std::vector<float> seen(uint32_t column, const Points& x) const;
  // s_i and b_i of these rows for any x_i.
  std::unique_ptr<ConditionalScores> line(uint32_t column, const Points& x) const;

  uint32_t dimension() const override { return shape_.dimension; }
  std::span<float> parameters() override { return theta_; }
  std::span<const float> parameters() const override { return theta_; }
  void parameters_changed() override;
  void score(const Points& x, std::span<double> s) const override;
  EnergyRecord record() const override;

  // Each throws Error: it is trained column by column, and drawn from without chains.
  std::unique_ptr<EnergyPass> make_pass() const override;
  void score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const override;
  void directional(const Points& x, const Points& v, std::span<double> first,
                   std::span<double> second) const override;
  void directional_backward(const Points& x, const Points& v, std::span<const double> d_first,
                            std::span<const double> d_second, std::span<float> gradient) const override;

 private:
  void set_broad_scales();

  Shape shape_;
  std::vector<float> lower_, upper_;  // of the columns, as others see them
  std::vector<float> broad_;          // scale of every broad component
  std::vector<Regressor> columns_;    // with one member each
  FlatParameters blocks_;             // of all networks
  std::vector<float> theta_;
};

}  // namespace selfnorm
