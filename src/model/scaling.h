// Standardisation of dense features for training: z = (x - mean) / std. Because scores are linear it folds
// back exactly:
//     w . z + c = (w / std) . x + (c - w . mean / std),
// so a model file never knows about it.
#pragma once

#include <vector>

#include "data/dataset.h"

namespace selfnorm {

struct Scaling {
  std::vector<double> mean;  // empty: no scaling
  std::vector<double>
      inverse;  // 1 / std; std at least a tenth of the root mean square of all stds, 1 if all are 0

  bool active() const { return !mean.empty(); }
  void apply(DenseMatrix& x) const;  // in place
};

Scaling fit_scaling(const DenseMatrix& x);

}  // namespace selfnorm
