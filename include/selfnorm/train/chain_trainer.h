// Trains a linear chain (model/chain/chain_model.h) from sentences: full passes (L-BFGS, OWL-QN) or AdaGrad
// by minibatches of sentences, with the loops, early stopping and checkpoints of every other model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "selfnorm/data/sequence/sequences.h"
#include "selfnorm/engine/engine.h"
#include "selfnorm/model/chain/chain_model.h"
#include "selfnorm/objective/options.h"
#include "selfnorm/train/options.h"

namespace selfnorm {

// Everything the training of a chain can be told, with the formula, the default and the range of each value.

// Loss minimised, over N sentences: (1/N) sum_i (A_i - s_i + penalty_i) + l2/2 |theta|^2 + l1 |theta|_1; the
// biases are not regularised. Wapiti's rho1 and rho2, of the sum over sentences, are l1 N and l2 N.
struct ChainOptions {
  // exact | penalty | constraint | sampled. The centre is 0: the biases, one constant per position among
  // them, are free to bring A there. alpha and delta are of A of a sentence.
  ObjectiveOptions objective;
  double l2 = 1e-4;  // >= 0
  double l1 = 0.0;   // >= 0; OWL-QN with lbfgs, soft threshold with adagrad

  std::string optimiser = "auto";  // auto | lbfgs | adagrad
  uint64_t iterations = 500;       // lbfgs: at most; >= 1
  double tolerance = 1e-4;         // lbfgs: stop when |gradient| <= tolerance * the one at the start; > 0
  uint64_t history = 10;           // lbfgs: correction pairs kept; 1..100
  uint64_t epochs = 20;            // adagrad: passes over the data; >= 1
  uint64_t batch = 16;             // adagrad: sentences per step; >= 1
  double learning_rate = 0.0;      // adagrad: > 0, or 0 for 1 / rms |x_t|, x_t the attributes of a position
  uint64_t patience = 5;  // validation checks without improvement before stopping; 0 never stops early
  // penalty, sampled: at the end the least-squares fit of A on (1, T) over the validation data is taken out
  // of the parameters, which leaves p as it is (without transitions: mean A / mean T); without validation
  // data penalty: as trained, sampled: over the training data. false: as trained
  bool calibrate = true;

  uint64_t seed = 0;
  int threads = 0;  // 0 = all cores; the result does not depend on it

  void validate() const;  // throws Error naming the option, the value and the range
  // The same for the loops of every model (train/loop.h).
  TrainOptions loop_options() const;
};

struct ChainTrainResult : RunResult {  // means are over sentences
  ChainModel model;       // complete except audit_json, which the caller fills; interrupted: the best so far
  std::string optimiser;  // the one used (auto resolved)
};

struct ChainTrainData {
  const Sequences& train;
  const Sequences* valid = nullptr;  // null: no early stopping
  const SequenceEncoder& encoder;
};

// Starts at theta = 0 with biases -log L, where A = 0 for every sentence. Throws Error for data that do not
// fit the encoder, one label, and options out of range.
ChainTrainResult train_chain(const ChainTrainData& data, const ChainOptions& options,
                             const CheckpointOptions& checkpoint, TrainObserver& observer);

ChainShape shape_of(const SequenceEncoder& encoder);

}  // namespace selfnorm
