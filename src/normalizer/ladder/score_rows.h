// Classes as points whose distances are those of their scores, for clustering. With h the inputs and hbar
// their mean,
//     E [(w_k - w_l) . (h - hbar)]^2 = |L'(w_k - w_l)|^2,   L L' = Cov h,
// so class k is the point L' w_k. Where x is sparse, or has more than kWidestMetric features, the points are
// the scores w_k . (h_i - hbar) / sqrt n of kMetricInputs inputs, whose distances estimate the same.
#pragma once

#include <memory>
#include <vector>

#include "data/dataset.h"
#include "model/class_scores.h"
#include "model/model_file.h"

namespace selfnorm {

inline constexpr uint32_t kWidestMetric = 512;
inline constexpr uint64_t kMetricInputs = 256;

// The mean of dense inputs and the Cholesky factor of their covariance (lower, d x d, row-major), with a
// ridge of 1e-6 of the mean variance.
struct InputMetric {
  std::vector<double> mean, factor;

  static bool is_for(const Features& x) { return !x.is_sparse && x.columns() <= kWidestMetric; }
  static InputMetric of(const DenseMatrix& x);
  // z_i = L^-1 (h_i - hbar), whose covariance is the identity.
  std::vector<float> whitened(const DenseMatrix& x) const;
};

class ScoreRows {
 public:
  // Keeps references.
  ScoreRows(const ModelFile& model, const ClassScores& scores, const Features& inputs,
            const InputMetric* metric);

  uint32_t width() const { return width_; }
  uint64_t classes() const { return model_.classes; }
  // out (classes of the range x width) <- their points.
  void points(Range range, float* out) const;

 private:
  const ModelFile& model_;
  const ClassScores& scores_;
  const Features& inputs_;
  std::vector<float> factor_;  // L; empty: scores of inputs
  uint32_t width_;
};

}  // namespace selfnorm
