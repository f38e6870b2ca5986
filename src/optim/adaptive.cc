#include "optim/adaptive.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/failure.h"
#include "math/kernels.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr double kEpsilon = 1e-8;

constexpr size_t kRowsAtOnce = 1024;

}  // namespace

template <class Real>
Adaptive<Real>::Adaptive(const std::string& name, size_t parameters, double initial_square)
    : adam_(name == "adam") {
  if (name != "adam" && name != "adagrad")
    throw_error("optimiser '{}' is not known; expected adagrad or adam", name);
  state_.square.assign(parameters, adam_ ? Real{0} : static_cast<Real>(initial_square));
  if (adam_) state_.mean.resize(parameters);
}

double late_start_factor(uint64_t step, uint64_t before) {
  const auto correction = [](uint64_t t) {
    const auto steps = static_cast<double>(t);
    return std::sqrt(1 - std::pow(kSquareDecay, steps)) / (1 - std::pow(kMeanDecay, steps));
  };
  return correction(step - before) / correction(step);
}

template <class Real>
double Adaptive<Real>::default_rate(const std::string& name) {
  return name == "adam" ? 0.1 : 2;
}

// What one step does to one coordinate.
template <class Real>
class Adaptive<Real>::Rule {
 public:
  Rule(Adaptive& optimiser, std::span<Real> x, size_t offset, double rate)
      : adam_(optimiser.adam_),
        rate_(static_cast<Real>(rate)),
        value_(x.data() + offset),
        square_(optimiser.state_.square.data() + offset),
        mean_(adam_ ? optimiser.state_.mean.data() + offset : nullptr) {
    if (!adam_) return;
    const double t = static_cast<double>(optimiser.state_.step);
    mean_correction_ = static_cast<Real>(1 / (1 - std::pow(kMeanDecay, t)));
    square_correction_ = static_cast<Real>(1 / (1 - std::pow(kSquareDecay, t)));
  }

  void apply(size_t i, Real g, Real l1) const {
    constexpr Real b1 = static_cast<Real>(kMeanDecay), b2 = static_cast<Real>(kSquareDecay);
    Real move = g;
    if (adam_) {
      mean_[i] = b1 * mean_[i] + (1 - b1) * g;
      square_[i] = b2 * square_[i] + (1 - b2) * g * g;
      move = mean_[i] * mean_correction_;
    } else {
      square_[i] += g * g;
    }
    const Real own_rate = rate_ / (std::sqrt(square_[i] * square_correction_) + static_cast<Real>(kEpsilon));
    value_[i] -= own_rate * move;
    if (l1 > 0) {
      const Real threshold = own_rate * l1;
      value_[i] = value_[i] > threshold    ? value_[i] - threshold
                  : value_[i] < -threshold ? value_[i] + threshold
                                           : Real{0};
    }
  }

 private:
  bool adam_;
  Real rate_, mean_correction_ = 1, square_correction_ = 1;
  Real* value_;
  Real* square_;
  Real* mean_;
};

template <class Real>
void Adaptive<Real>::update(std::span<Real> x, size_t offset, std::span<const Real> gradient, double rate,
                            double l1) {
  const Rule rule(*this, x, offset, rate);
  for (size_t i = 0; i < gradient.size(); ++i) rule.apply(i, gradient[i], static_cast<Real>(l1));
}

template <class Real>
void Adaptive<Real>::update_cells(std::span<Real> x, size_t offset, std::span<const uint32_t> column,
                                  std::span<const Real> gradient, double rate, std::span<const Real> l1) {
  const Rule rule(*this, x, offset, rate);
  for (size_t i = 0; i < column.size(); ++i) rule.apply(column[i], gradient[i], l1.empty() ? Real{0} : l1[i]);
}

template class Adaptive<float>;
template class Adaptive<double>;

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

std::vector<std::string> schedule_names() { return {"constant", "linear", "cosine", "inverse-sqrt"}; }

double Schedule::factor(uint64_t step) const {
  const double t = static_cast<double>(step) / static_cast<double>(steps);
  if (name == "constant") return 1;
  if (name == "linear") return 1 - t;
  if (name == "cosine") return 0.5 * (1 + std::cos(std::numbers::pi * t));
  if (name == "inverse-sqrt")
    return 1 / std::sqrt(1 + static_cast<double>(step) / static_cast<double>(steps_per_epoch));
  throw_error("schedule '{}' is not known; expected one of {}", name, fmt::join(schedule_names(), ", "));
}

}  // namespace selfnorm
