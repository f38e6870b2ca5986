// The simple models that a trained regressor has to beat (audit/simple_model.h).
#pragma once

#include <span>

#include "audit/simple_model.h"
#include "model/regressor/regressor.h"

namespace selfnorm {

// Rows as a regressor takes them, and their targets in the units of the data.
struct TargetRows {
  InputRows x;
  std::span<const double> y;
};
// The better of: linear regression on the numeric inputs and levels (the most frequent ones), with Gaussian
// noise; the mixture that the tilt of the model starts from, where it has one.
SimpleModel simple_regression(const Regressor& model, const TargetRows& train, const TargetRows& held_out);

}  // namespace selfnorm
