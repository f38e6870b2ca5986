#include "optim/adaptive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.999;
constexpr double kEpsilon = 1e-8;

}  // namespace

template <class Real>
Adaptive<Real>::Adaptive(const std::string& name, size_t parameters, double initial_square)
    : adam_(name == "adam") {
  if (name != "adam" && name != "adagrad") {
    throw Error(fmt::format("optimiser '{}' is not known; expected adagrad or adam", name));
  }
  state_.square.assign(parameters, adam_ ? Real{0} : static_cast<Real>(initial_square));
  if (adam_) state_.mean.resize(parameters);
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

}  // namespace selfnorm
