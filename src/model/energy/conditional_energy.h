// A network energy of y given a context: f(c, y) with the network of model/energy/mlp.h on y, whose first
// layer starts from the context instead of its own bias alone,
//     z_1 = W_1 (y, cos By, sin By) + c_1 + context_row,   f = w . a_L,
// so what depends on x is computed once for any number of y. Gradient with respect to the context: D_1,
// summed over the y of the row.
#pragma once

#include <memory>
#include <span>

#include "model/energy/energy.h"
#include "model/energy/mlp.h"

namespace selfnorm {

// y_i belongs to context row[i]; `row` does not decrease. Parallel inside, cut by contexts, and the bits do
// not depend on the number of threads.
struct ConditionalPoints {
  Points context;  // rows x width
  Points y;
  std::span<const uint32_t> row;  // of every y
};

class ConditionalPass {
 public:
  virtual ~ConditionalPass() = default;
  // f(c_row[i], y_i). The input and the result have to live until backward or the next forward.
  virtual std::span<const double> forward(const ConditionalPoints& at) = 0;
  // gradient += sum_i d_i df_i/dtheta; d_context (rows x width) is overwritten with sum_i d_i df_i/dc.
  virtual void backward(std::span<const double> d, std::span<float> gradient, std::span<float> d_context) = 0;
};

class ConditionalEnergy {
 public:
  virtual ~ConditionalEnergy() = default;

  virtual uint32_t dimension() const = 0;
  virtual uint32_t context_width() const = 0;  // of the first layer
  virtual std::span<float> parameters() = 0;
  virtual std::span<const float> parameters() const = 0;
  virtual void parameters_changed() = 0;

  virtual std::unique_ptr<ConditionalPass> make_pass() const = 0;
  virtual void score(const ConditionalPoints& at, std::span<double> f) const = 0;
  // f and df/dy, row-major.
  virtual void score_gradient(const ConditionalPoints& at, std::span<double> f,
                              std::span<float> dy) const = 0;
  // As Energy::directional along v (one row for every y), and back to theta and the context.
  virtual void directional(const ConditionalPoints& at, const Points& v, std::span<double> first,
                           std::span<double> second) const = 0;
  virtual void directional_backward(const ConditionalPoints& at, const Points& v,
                                    std::span<const double> d_first, std::span<const double> d_second,
                                    std::span<float> gradient, std::span<float> d_context) const = 0;
  virtual EnergyRecord record() const = 0;
};

// Starts as model/energy/mlp.h, except the first layer: W_1 ~ N(0, 3^2 / d) on y and c_1 = -W_1 t with t
// uniform on [-2, 2]^d, so that its units bend somewhere among standardised y. With `starts_at_zero` w = 0:
// f = 0 until it is trained.
std::unique_ptr<ConditionalEnergy> make_conditional_mlp(uint32_t dimension, const MlpOptions& options,
                                                        uint64_t seed, bool starts_at_zero);
std::unique_ptr<ConditionalEnergy> make_conditional_mlp(const EnergyRecord& record);

}  // namespace selfnorm
