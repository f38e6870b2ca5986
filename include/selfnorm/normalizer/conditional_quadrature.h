// A(x) = log of the integral of exp s(x, y) dy for every x of a block, y of 1 to 3 dimensions, with its
// error, and the density at the nodes, from which predictions are made.
//
// The region of an input starts where the places say mass may be and doubles outwards until what lies beyond
// is negligible (as normalizer/quadrature.h, whose bound of the rest is used); cells are halved where the
// error is, all inputs of a block together, so that scores are computed in large batches. In log space
// relative to the largest score of the input. The support is found, not assumed.
#pragma once

#include <cstdint>
#include <vector>

#include "selfnorm/model/regressor/conditional_scores.h"

namespace selfnorm {

struct ConditionalQuadratureOptions {
  double precision = 1e-4;        // target of the error of A; 1e-8 .. 0.1
  uint32_t most_evaluations = 0;  // per input, then it ends with the error it has; 0: 4,096 in one
                                  // dimension, 65,536 in two, 262,144 in three
  void validate() const;
};

// The density of one input. One dimension: cells in order, disjoint, their nodes in order inside. More: a
// cloud of nodes.
struct PredictiveNodes {
  std::vector<float> y;             // rows x d
  std::vector<double> log_weight;   // of the rule: integral of g = sum_j exp(log_weight_j) g(y_j)
  std::vector<double> log_density;  // s - A
  std::vector<double> edge;         // one dimension: ends of the cells, ascending; nodes_per_cell nodes each
  uint32_t nodes_per_cell = 0;
  double log_normalizer = 0;  // A
  double error = 0;           // of A, estimated, tails included
  double tail = 0;            // bound of the mass beyond the region
  uint64_t evaluations = 0;
};

// One for every row of `scores`. Throws Error naming the row for a score that is NaN or +inf, or no mass.
std::vector<PredictiveNodes> conditional_quadrature(const ConditionalScores& scores,
                                                    const ConditionalQuadratureOptions& options = {});

// A and its error alone.
struct ConditionalLogZ {
  double value = 0, error = 0;
};
std::vector<ConditionalLogZ> conditional_log_z(const ConditionalScores& scores,
                                               const ConditionalQuadratureOptions& options = {});

}  // namespace selfnorm
