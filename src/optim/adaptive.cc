#include "selfnorm/optim/adaptive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "selfnorm/base/error.h"

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

template <class Real>
void Adaptive<Real>::update(std::span<Real> x, size_t offset, std::span<const Real> gradient, double rate,
                            double l1) {
  const double t = static_cast<double>(state_.step);
  const Real mean_correction = static_cast<Real>(adam_ ? 1 / (1 - std::pow(kMeanDecay, t)) : 1);
  const Real square_correction = static_cast<Real>(adam_ ? 1 / (1 - std::pow(kSquareDecay, t)) : 1);
  const Real b1 = static_cast<Real>(kMeanDecay), b2 = static_cast<Real>(kSquareDecay);
  const Real eps = static_cast<Real>(kEpsilon), r = static_cast<Real>(rate), shrink = static_cast<Real>(l1);
  Real* value = x.data() + offset;
  Real* square = state_.square.data() + offset;
  Real* mean = adam_ ? state_.mean.data() + offset : nullptr;
  for (size_t i = 0; i < gradient.size(); ++i) {
    const Real g = gradient[i];
    Real move = g;
    if (adam_) {
      mean[i] = b1 * mean[i] + (1 - b1) * g;
      square[i] = b2 * square[i] + (1 - b2) * g * g;
      move = mean[i] * mean_correction;
    } else {
      square[i] += g * g;
    }
    const Real own_rate = r / (std::sqrt(square[i] * square_correction) + eps);
    value[i] -= own_rate * move;
    if (l1 > 0) {
      const Real threshold = own_rate * shrink;
      value[i] = value[i] > threshold    ? value[i] - threshold
                 : value[i] < -threshold ? value[i] + threshold
                                         : Real{0};
    }
  }
}

template class Adaptive<float>;
template class Adaptive<double>;

}  // namespace selfnorm
