#include "optim/row_adagrad.h"

#include <algorithm>
#include <cmath>

#include "math/kernels.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kRowsAtOnce = 1024;

}  // namespace

RowAdagrad::RowAdagrad(size_t rows, size_t columns, double initial_square, double decay)
    : columns_(columns), decay_(decay) {
  state_.square.assign(rows, static_cast<float>(initial_square));
  if (decay > 0) state_.decayed.assign(rows, 0.0);
}

void RowAdagrad::begin_step(double rate) {
  rate_ = rate;
  if (decay_ > 0) state_.log_decay += std::log1p(-std::min(0.5, rate * decay_));
}

void RowAdagrad::update(float* x, size_t row, const float* gradient) {
  float* own = x + row * columns_;
  float& square = state_.square[row];
  square += static_cast<float>(dot(gradient, gradient, columns_) / static_cast<double>(columns_));
  if (decay_ > 0) {
    scale(static_cast<float>(std::exp(state_.log_decay - state_.decayed[row])), own, columns_);
    state_.decayed[row] = state_.log_decay;
  }
  add_scaled(static_cast<float>(-rate_ / std::sqrt(static_cast<double>(square))), gradient, own, columns_);
}

void RowAdagrad::settle(float* x) {
  if (!(decay_ > 0)) return;
  parallel_ranges(state_.square.size(), kRowsAtOnce, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      scale(static_cast<float>(std::exp(state_.log_decay - state_.decayed[row])), x + row * columns_,
            columns_);
      state_.decayed[row] = state_.log_decay;
    }
  });
}

}  // namespace selfnorm
