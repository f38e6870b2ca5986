// A minibatch: some examples copied out of a data set, without labels and names, with the features they use
// renumbered 0 .. u-1 when sparse.
#pragma once

#include <span>
#include <vector>

#include "data/dataset.h"
#include "engine/checkpoint.h"
#include "math/random.h"
#include "model/multiclass.h"
#include "objective/loss.h"
#include "selfnorm/progress.h"

namespace selfnorm {

struct Minibatch {
  Dataset data;
  FeatureMap map;  // empty: features keep their numbers
};

class MinibatchMaker {
 public:
  // Keeps a reference.
  explicit MinibatchMaker(const Dataset& data);

  Minibatch make(std::span<const uint64_t> examples);

 private:
  const Dataset& data_;
  std::vector<uint32_t> local_;  // feature -> column in the minibatch being made
};

inline constexpr uint64_t kDropoutStream = 0x64726f7000000000;  // "drop", then the step

// Inverted dropout: every stored entry is left out with probability `share`, the others are divided by
// 1 - share, so that the expectation stays.
void drop_inputs(double share, RandomStream random, Features& x);

// For every feature the probability that a minibatch of `batch` random examples uses it, 1 - (1 -
// df/n)^batch; empty when every feature is used by every example.
std::vector<double> touch_probability(const Dataset& data, uint64_t batch);

// How many examples every class has.
std::vector<uint64_t> class_counts(const Dataset& data);

// The mean weight of the examples; 1 when they have none.
double mean_weight(const Dataset& data);

// The root mean square of |x| over the rows; 1 when all of them are 0.
double row_norm(const Features& x);

// The loss of an epoch so far, into reports and checkpoints.

// Adds the mean loss to progress.loss and fills penalty, nll, log_z_rms, log_ratio and effective_samples as
// far as the sum has them.
void report_sum(const LossSum& sum, Progress& progress);

void sum_state(LossSum& sum, CheckpointFields& fields);

}  // namespace selfnorm
