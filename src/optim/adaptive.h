// AdaGrad (Duchi et al. 2011) and Adam (Kingma & Ba 2015) on rows of parameters: an update touches only the
// rows it is given, so a sparse minibatch costs what it uses.
//     AdaGrad: G starts at G0;  G += g^2;  x -= rate g / (sqrt(G) + eps)
//     Adam:    m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;  x -= rate m^ / (sqrt(v^) + eps)   (hats:
//     bias-corrected by
//              the global step; rows not given keep m and v: "lazy Adam")
// An L1 term is applied as a proximal step: x <- soft(x, rate_i l1) with the coordinate's own rate_i.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

template <class Real>
struct AdaptiveState {
  uint64_t step = 0;
  std::vector<Real> square;  // AdaGrad: G; Adam: v
  std::vector<Real> mean;    // Adam: m
};

// Adam corrects its moments by the number of all steps. Coordinates whose gradients were 0 in the first
// `before` of `step` steps have moments that just began, and would move up to 6.5 times as far as the rate
// says; at this factor of it they move as in step - before steps:
//     c(step - before) / c(step),   c(t) = sqrt(1 - b2^t) / (1 - b1^t).
double late_start_factor(uint64_t step, uint64_t before);

template <class Real>
class Adaptive {
 public:
  // name: adagrad | adam. initial_square is AdaGrad's G0: coordinates whose gradients stay far below its root
  // move like plain gradient descent instead of taking a full-size first step.
  Adaptive(const std::string& name, size_t parameters, double initial_square);

  // To be divided by the root mean square of |x|: a step moves every used weight by about the rate, so scores
  // move by about rate |x|.
  static double default_rate(const std::string& name);

  void begin_step() { ++state_.step; }
  // Coordinates offset .. offset + gradient.size() - 1 of x.
  void update(std::span<Real> x, size_t offset, std::span<const Real> gradient, double rate, double l1);
  // Coordinates offset + column[i] of x, each once, with an l1 for each (or none).
  void update_cells(std::span<Real> x, size_t offset, std::span<const uint32_t> column,
                    std::span<const Real> gradient, double rate, std::span<const Real> l1);

  AdaptiveState<Real>& state() { return state_; }

 private:
  class Rule;

  bool adam_;
  AdaptiveState<Real> state_;
};

// AdaGrad (Duchi et al. 2011) with one accumulator per row of a matrix, so that its state is small beside the
// parameters, and decoupled weight decay that costs nothing for rows that are not used:
//     G_r += |g_r|^2 / n,     x_r <- (product of the decays since r was last used) x_r - rate g_r / sqrt(G_r)
// where every step decays by 1 - rate * decay. settle() brings all rows up to date.
struct RowAdagradState {
  std::vector<float> square;    // G
  std::vector<double> decayed;  // log of the decays already applied to a row; empty without weight decay
  double log_decay = 0;         // of all steps so far
};

class RowAdagrad {
 public:
  // initial_square is G0 > 0.
  RowAdagrad(size_t rows, size_t columns, double initial_square, double decay);

  // Between begin_step() and the next one every row is updated at most once; rows from several threads.
  void begin_step(double rate);
  // `x` is the whole matrix.
  void update(float* x, size_t row, const float* gradient);
  void settle(float* x);

  RowAdagradState& state() { return state_; }

 private:
  size_t columns_;
  double decay_, rate_ = 0;
  RowAdagradState state_;
};

// Learning-rate schedules: the factor of the base rate at step t of T.
//     constant 1;   linear 1 - t/T;   cosine (1 + cos(pi t/T))/2;   inverse-sqrt 1/sqrt(1 + t/w), w = steps
//     per epoch.

std::vector<std::string> schedule_names();

struct Schedule {
  std::string name = "linear";
  uint64_t steps = 1;
  uint64_t steps_per_epoch = 1;

  double factor(uint64_t step) const;  // throws Error for an unknown name
};

}  // namespace selfnorm
