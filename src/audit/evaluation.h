// How good a model is and how well it is normalised, on labelled data, by exact enumeration.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/dataset.h"
#include "model/model_file.h"

namespace selfnorm {

// Of A(x) - c over the data: c is the model's stored constant, so 0 everywhere means raw scores are
// log-probabilities.
struct LogZStatistics {
  double mean = 0, std = 0, rms = 0, min = 0, max = 0, q01 = 0, q50 = 0, q99 = 0;
};

// Of a model with an amortised normalizer b (model/model_file.h).
struct AmortisedEvaluation {
  double nll = 0;        // mean of c + b - s_y: what a user of amortised scores sees
  LogZStatistics log_z;  // of A - c - b
};

struct Evaluation {
  uint64_t n = 0;
  uint64_t unseen = 0;   // rows whose label the model has not seen: wrong, and left out of all NLL
  uint64_t classes = 0;  // joint: the largest group
  double nll_exact = 0;  // mean of A - s_y
  double nll_raw = 0;    // mean of c - s_y: what a user of raw scores sees
  double accuracy = 0;
  double top5 = 0;
  LogZStatistics log_z;
  double kl_uniform = 0;  // mean KL(p(.|x) || uniform over the outputs of x)
  std::optional<AmortisedEvaluation> amortised;
};

// With an encoder the data are its inputs, sparse rows.
Evaluation evaluate(const ModelFile& model, const Dataset& data, int threads = 0);
// Of a model that has the rows of the own classes: all processes together.
Evaluation evaluate(const ModelFile& own, const ClassShard& shard, const Dataset& data, int threads = 0);
// The same of a model in a file whose inputs are dense or encoded.
Evaluation evaluate(const MappedModel& model, const Dataset& data, int threads = 0);

// Statistics of a sample; quantiles are linear interpolations of order statistics. Takes the values by copy
// to sort them.
LogZStatistics describe(std::vector<double> values);

}  // namespace selfnorm
