// A(x) = log of the integral of exp s(x, y) dy for every x of a block, y of 1 to 3 dimensions, with its
// error, and the density at the nodes, from which predictions are made.
//
// First cells: the box of the places, cut where it is wide against the places that reach into it. A cell has
// the tensor product of Kronrod rules (math/gauss_rule.h; 15, 11 or 7 nodes an axis in 1, 2, 3
// dimensions). With G_j the difference that Gauss's rule along axis j makes and c_k the last Legendre
// coefficients along it, which at kinks do not vanish by chance as G does,
//     error of a cell = max(sum_j max(G_j, 0.1 sum_k |c_k|), that of the cell it is a half of / 100),
// in one dimension and what a narrow neighbour, or the score on a bound of the support, announces beside its
// end where its own nodes are too far apart. Cells that carry most of the error are halved along the axis
// where it is, all inputs of a block together, so that scores are computed in large batches; they are asked
// at float32 and in one dimension moved to the nodes. A side of the region, at distance R from the centre,
// moves to 2 R until
//     mass beyond it <= p(side) R / (a - 1),   a = -ds / d log distance there, a > 1.5,
// is negligible: true when log p is concave in log distance from there on, as for powers of the distance and
// everything that decays faster. In log space relative to the largest score of the input. Features narrower
// than about a tenth of the places around them can be missed.
#pragma once

#include <cstdint>
#include <vector>

#include "math/gauss_rule.h"
#include "model/regressor/conditional_scores.h"

namespace selfnorm {

struct ConditionalQuadratureOptions {
  double precision = 1e-4;        // target of the error of A; 1e-8 .. 0.1
  uint32_t most_evaluations = 0;  // per input, then it ends with the error it has; 0: 4,096 in one
                                  // dimension, 65,536 in two, 262,144 in three
  uint64_t first_row = 0;         // the number of the first row, for messages
  void validate() const;
};

// The density of one input. One dimension: cells in order, disjoint, their nodes in order inside. More:
// disjoint boxes that fill the region, the first coordinate of their nodes running fastest.
struct PredictiveNodes {
  std::vector<double> log_weight;   // of the rule: integral of g = sum_j exp(log_weight_j) g(y_j)
  std::vector<double> log_density;  // s - A
  std::vector<double> edge;         // one dimension: ends of the cells, ascending; nodes_per_cell nodes each
  std::vector<double> box;          // more dimensions: lower_j, upper_j (2 d numbers) of every cell
  uint32_t nodes_per_cell = 0;
  double log_normalizer = 0;  // A
  double error = 0;           // of A, estimated, tails included
  double tail = 0;            // bound of the mass beyond the region
  uint64_t evaluations = 0;
};

// The rule along every axis of a cell.
const KronrodRule& cell_rule(uint32_t dimension);
// How many inputs are taken at once, so that nodes fit into memory.
uint64_t rows_at_once(uint32_t dimension);

// One for every row of `scores`. Throws Error naming the row for a score that is NaN or +inf, no mass, or
// tails that do not decay.
std::vector<PredictiveNodes> conditional_quadrature(const ConditionalScores& scores,
                                                    const ConditionalQuadratureOptions& options = {});

// A and its error alone.
struct ConditionalLogZ {
  double value = 0, error = 0;
};
std::vector<ConditionalLogZ> conditional_log_z(const ConditionalScores& scores,
                                               const ConditionalQuadratureOptions& options = {});

}  // namespace selfnorm
