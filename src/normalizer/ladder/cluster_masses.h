// Log-masses of clusters of classes, G_j(x) = log sum_{k in j} exp s_k(x), exactly and as affine functions
//     m_j(x) = mass_j + centroid_j . (x, q),   q = |x|^2 over its mean,
// which q makes curved, as G_j is. The start is G_j at the mean input and the gradient that G_j has where the
// cluster matters: the mean of its rows, class k weighing as many inputs as it is expected to explain, U_k =
// sum_i p(k|x_i), and one input more by its softmax at the mean input. What that leaves over is regressed, by
// weighted least squares with a ridge, on q and the whitened inputs (score_rows.h), or without a metric the
// affine start itself. An input counts by the share of the cluster in its sum, p = exp(G_j - A), with the
// weight min(1, p / kFullShare), and not at all below kLeastShare.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/class_scores.h"
#include "model/ladder.h"
#include "normalizer/ladder/score_rows.h"

namespace selfnorm {

class DeviceHead;

inline constexpr double kFullShare = 0.02, kLeastShare = 2e-4;

// order and begin of ClassClusters from the cluster of every class; and the biases.
ClassClusters grouped_classes(std::span<const uint32_t> cluster_of, uint32_t clusters,
                              const ModelFile& model);
// The weights as bfloat16, in the order of the clusters.
void copy_rows(const ModelFile& model, ClassClusters& clusters);

// What is known of the scores of all classes: on the chosen device for dense rows (normalizer/device_head.h),
// else here.
class ExactSums {
 public:
  // Keeps a reference.
  ExactSums(const ModelFile& model, bool is_sparse);
  ~ExactSums();

  const ClassScores& scores() const { return *scores_; }
  // Whether sums of clusters cost next to nothing here and are those of a rung of kind nearest, whose weights
  // are bfloat16.
  bool serves_clusters() const;
  // log Z of the rows, and their mean softmax over the classes.
  std::vector<double> log_z(const Features& x) const;
  std::vector<double> mean_shares(const Features& x, std::span<const double> log_z) const;
  // G, rows x clusters; what is below exp(-80) of the sum stands there.
  std::vector<float> cluster_log_masses(const Features& x, std::span<const double> log_z,
                                        const ClassClusters& clusters) const;

 private:
  std::unique_ptr<ClassScores> scores_;
  std::unique_ptr<DeviceHead> device_;  // none: here
};

class MassFit {
 public:
  // Keeps references but to `usage`, U of the classes. `metric` may be null.
  MassFit(const ModelFile& model, const Features& x, const InputMetric* metric, const ClassClusters& clusters,
          std::span<const double> usage);

  // centroid and mass from the rows listed, of which G and log Z are given for all.
  void fit(std::span<const uint64_t> rows, std::span<const float> g, std::span<const double> log_z,
           ClassClusters& out) const;
  // m_j(x_i) of the rows listed, written to their places in `out` (rows x clusters).
  void evaluate(const ClassClusters& fitted, std::span<const uint64_t> rows, std::span<float> out) const;

 private:
  void start(const ClassClusters& clusters, std::span<const double> usage);

  const ModelFile& model_;
  const Features& x_;
  const InputMetric* metric_;
  size_t clusters_;
  std::vector<uint32_t> size_;  // of the clusters
  std::vector<double> mean_;    // of the inputs
  std::vector<float> slope_;    // of the start, C x d
  std::vector<double> level_;   // of the start, at the mean input
  std::vector<float> whitened_;
  std::vector<double> square_;  // q of the inputs
  double norm_ = 1;
};

// m_j(x_i) of the rows listed, with q_i of all rows; written to their places in `out` (rows x clusters).
void evaluate_masses(const ClassClusters& clusters, const Features& x, std::span<const double> q,
                     std::span<const uint64_t> rows, std::span<float> out);

// |x_i|^2
std::vector<double> squares_of(const Features& x);

}  // namespace selfnorm
