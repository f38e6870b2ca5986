// Which objective, and its constants (theory.md section 3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/option_table.h"

namespace selfnorm {

struct ObjectiveOptions {
  std::string name =
      "penalty";       // a name of objective_names() or candidate_objective_names(), or hierarchical
  double alpha = 0.1;  // penalty, sampled: weight of (A - c)^2; >= 0 (sampled: > 0)
  double delta = 0.1;  // constraint: rms(A - c) <= delta on the training data; > 0
  double gamma = 0.1;  // sampled: fraction of each minibatch that is normalised; in [0, 1]
  // penalty, constraint: c, the value log Z is drawn to; unset: 0, which calibration may move
  // (train/options.h), and learned for joint models, whose alternatives have no bias to absorb it
  std::optional<double> centre = std::nullopt;
  bool learn_centre = false;  // penalty, constraint: c is a parameter too, stored and subtracted

  // nce, ranking-nce, is, snl
  uint64_t samples = 100;         // noise classes per example; 1..1e6; in-batch: not used
  std::string noise = "unigram";  // what they are drawn from: a name of noise_names() (proposal.h)
  double noise_power = 0.75;      // unigram: beta, in [0, 1]
  std::string noise_sharing =
      "batch";  // batch: one draw for all examples of a minibatch | example: each its own
  // nce, snl: b = 0, or a learned constant that is stored and subtracted, or a learned function of the state
  // h (linear models: of x) that is stored as the amortised normalizer
  std::string normalizer = "constant";  // zero | constant | linear | mlp
  uint32_t normalizer_hidden = 16;      // mlp: hidden units; 1..4096

  void validate() const;  // throws Error naming the option, the value and the range
};

// The options of `o` that objectives of the family ("classifier", "lm", "crf") read, and its name.
OptionTable objective_option_table(const std::string& family, ObjectiveOptions& o);

}  // namespace selfnorm
