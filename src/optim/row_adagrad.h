// AdaGrad (Duchi et al. 2011) with one accumulator per row of a matrix, so that its state is small beside the
// parameters, and decoupled weight decay that costs nothing for rows that are not used:
//     G_r += |g_r|^2 / n,     x_r <- (product of the decays since r was last used) x_r - rate g_r / sqrt(G_r)
// where every step decays by 1 - rate * decay. settle() brings all rows up to date.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

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

  const RowAdagradState& state() const { return state_; }
  void restore(RowAdagradState state) { state_ = std::move(state); }

 private:
  size_t columns_;
  double decay_, rate_ = 0;
  RowAdagradState state_;
};

}  // namespace selfnorm
