// Retrains the parameters of a softmax head, and nothing else, for a smaller log-normalizer than the lossless
// gauge leaves (theory.md 1.5, 3): minimises over the head
//     mean_i [ A_i - s_i + alpha A_i^2 ]
// where s_i is the score of the label, or its mean under the head's own original distribution (the teacher),
// for growing alpha, each solve started at the last and followed by the gauge, until rms log Z <= delta or
// the likelihood lost reaches the budget on held-out examples; then the crossing is narrowed down, by solves
// and at last on the segment between two of them. What is lost is the mean of log p_original(y) - log p(y);
// for a teacher it is KL(p_original || p).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/example_source.h"
#include "model/model_file.h"

namespace selfnorm {

// A point of the trade; all of it on the held-out examples.
struct TradePoint {
  double alpha = 0;
  double rms = 0;                // of log Z
  double loss = 0;               // nats per example
  bool is_interpolated = false;  // between the solutions of two alphas; alpha is between theirs
};

struct RetrainProgress {
  uint64_t solve = 0;  // number of the alpha
  double alpha = 0;
  uint64_t pass = 0, passes = 0;    // over the examples, of at most
  uint64_t done = 0, examples = 0;  // of this pass
};

struct RetrainOptions {
  std::optional<double> delta = std::nullopt;   // > 0
  std::optional<double> budget = std::nullopt;  // > 0; at least one of the two
  bool use_labels = true;                       // where there are any; false: always the teacher
  uint64_t passes = 200;                        // over the examples for each alpha, at most; >= 1
  uint64_t refinements = 1;                     // further alphas once the target is crossed
  uint64_t seed = 0;
  int threads = 0;
  std::function<void(const RetrainProgress&)> on_progress = {};

  void validate() const;  // throws Error naming the option, the value and the range
};

struct RetrainResult {
  ModelFile model;
  bool used_labels = false;
  bool reached = false;      // delta, within the budget; without a delta always
  std::string reason;        // in words
  TradePoint start, chosen;  // the cheapest that meets delta, or the smallest within the budget, or the start
  std::vector<TradePoint> trade;  // every alpha that was solved, in increasing order of alpha
};

// `original` is the teacher and what the loss is measured from; `start` an equivalent of it after the gauge,
// whose log_normalizer must be 0. Labels are used when both sources have them. The
// held-out examples choose, so they are no test of the result. Multiclass only.
RetrainResult retrain(const ModelFile& original, const ModelFile& start, const ExampleSource& training,
                      const ExampleSource& held_out, const RetrainOptions& options);

}  // namespace selfnorm
