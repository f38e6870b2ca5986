// A data set seen through its model: multiclass or joint behind the one ExactPass.
#pragma once

#include <memory>
#include <span>

#include "data/dataset.h"
#include "model/multiclass.h"
#include "normalizer/exact_pass.h"

namespace selfnorm {

// Parameters are `rows` x `width`; the first `penalised_rows` rows are weights, the rest biases.
struct ParameterShape {
  size_t rows = 0;
  size_t width = 1;
  size_t penalised_rows = 0;

  size_t size() const { return rows * width; }
  size_t penalised() const { return penalised_rows * width; }
};

// multiclass: (features + 1) x classes; joint: features x 1.
ParameterShape parameter_shape(bool joint, uint32_t features, uint32_t classes);

// Keeps references to everything it is given. In float and without a map it may be on the chosen device
// (normalizer/device_linear.h). `map` renumbers the features of a minibatch (multiclass only).
template <class Real>
std::unique_ptr<ExactPass<Real>> make_exact_pass(const Dataset& data, uint32_t features, uint32_t classes,
                                                 std::span<const float> log_carrier,
                                                 const FeatureMap* map = nullptr);

}  // namespace selfnorm
