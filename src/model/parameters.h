// Between parameters of training (feature-major, scaled features) and model files (class-major, raw ones).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "model/model_file.h"

namespace selfnorm {

// Standardisation of dense features for training, z = (x - mean) / std, which folds back exactly:
//     w . z + c = (w / std) . x + (c - w . mean / std),
// so a model file never knows about it.
struct Scaling {
  std::vector<double> mean;  // empty: no scaling
  // 1 / std; std at least a tenth of the root mean square of all stds, 1 if all are 0.
  std::vector<double> inverse;

  bool active() const { return !mean.empty(); }
  void apply(DenseMatrix& x) const;  // in place
};

Scaling fit_scaling(const DenseMatrix& x);

// Fills model.weight and model.bias; model.family, classes and features say the shape.
template <class Real>
void store_parameters(std::span<const Real> theta, const Scaling& scaling, ModelFile& model);

// theta of a model file: (d+1) x K, or d for joint.
template <class Real>
std::vector<Real> parameters_of(const ModelFile& model);

// Stored forms of float32 weights (bounds in model_file.h).
// Rows of `columns` weights each.
struct Int8Rows {
  std::vector<int8_t> values;  // -127 .. 127
  std::vector<float> scale;    // one per row, each a bfloat16
};
// The largest q of a row is 126 or 127. A row of 126 would fit the scale before, too: one that is already a
// multiple of its scale keeps it, so that storing what was stored changes nothing.
Int8Rows to_int8(std::span<const float> weight, size_t columns);

// Each weight becomes what is read back after storing it.
void round_to_int8(std::span<float> weight, size_t columns);

}  // namespace selfnorm
