// The softmax of every row of a block by enumeration of the classes, in one pass over the scores: log Z, the
// expected score, the best class, the score of a chosen class. Rows and classes are cut by their numbers
// alone into tiles that stay in cache between the product that makes them and the sum that reads them; memory
// beyond the head and the block itself is one tile per thread.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "math/kernels.h"
#include "model/class_scores.h"
#include "model/model_file.h"

namespace selfnorm {

struct ClassMoments {
  std::vector<SoftmaxMoments> rows;
  std::vector<double> target_score;  // empty without targets
};

// `target` is empty or has one class per row.
ClassMoments class_moments(const ClassScores& scores, const Features& rows,
                           std::span<const uint32_t> target = {});

// How two heads with the same classes differ on the rows of a block.
struct HeadDifference {
  static constexpr double kVisible = 1e-6;

  double probability = 0;      // largest |p_k(x) - q_k(x)|
  double log_probability = 0;  // largest |log p_k(x) - log q_k(x)| over classes with p_k(x) >= kVisible
  double kl = 0;               // sum over the rows of KL(p || q)

  // What is not a number stays one.
  static void raise(double& most, double value) {
    if (!(value <= most)) most = value;
  }
  // Other rows, or other classes.
  void add(const HeadDifference& other) {
    raise(probability, other.probability);
    raise(log_probability, other.log_probability);
    kl += other.kl;
  }
  // One output of one row.
  void add(double log_p, double log_q) {
    const double share = std::exp(log_p);
    raise(probability, std::abs(share - std::exp(log_q)));
    kl += share * (log_p - log_q);
    if (share >= kVisible) raise(log_probability, std::abs(log_p - log_q));
  }
};
HeadDifference head_difference(const ClassScores& p, const ClassScores& q, const Features& rows);

// How two models of the same outputs differ on a block of examples: multiclass by class_moments.h, joint by
// enumeration of each group.

HeadDifference model_difference(const ModelFile& p, const ModelFile& q, const Dataset& examples);

}  // namespace selfnorm
