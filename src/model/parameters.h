// Between the parameters of training (feature-major, scaled features) and a model file (class-major, raw
// features).
#pragma once

#include <span>
#include <vector>

#include "model/model_file.h"
#include "model/scaling.h"

namespace selfnorm {

// Fills model.weight and model.bias; model.family, classes and features say the shape.
template <class Real>
void store_parameters(std::span<const Real> theta, const Scaling& scaling, ModelFile& model);

// theta of a model file: (d+1) x K, or d for joint.
template <class Real>
std::vector<Real> parameters_of(const ModelFile& model);

}  // namespace selfnorm
