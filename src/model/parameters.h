// Between the parameters of training (feature-major, scaled features) and a model file (class-major, raw
// features).
#pragma once

#include <span>
#include <vector>

#include "data/dataset.h"
#include "model/model_file.h"

namespace selfnorm {

// Standardisation of dense features for training: z = (x - mean) / std. Because scores are linear it folds
// back exactly:
//     w . z + c = (w / std) . x + (c - w . mean / std),
// so a model file never knows about it.
struct Scaling {
  std::vector<double> mean;  // empty: no scaling
  std::vector<double>
      inverse;  // 1 / std; std at least a tenth of the root mean square of all stds, 1 if all are 0

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

}  // namespace selfnorm
