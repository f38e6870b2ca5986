// Trains a linear chain (model/crf/crf_model.h) from sentences: full passes (L-BFGS, OWL-QN) or AdaGrad
// by minibatches of sentences, with the loops, early stopping and checkpoints of every other model.
#pragma once

#include <optional>
#include <string>

#include "selfnorm/data/sentences/sequences.h"
#include "selfnorm/model/crf/crf_model.h"
#include "selfnorm/train/chain_options.h"
#include "selfnorm/train/trainer.h"

namespace selfnorm {

struct ChainTrainResult {
  CrfModel model;            // complete except audit_json, which the caller fills after auditing
  std::string reason;        // why it stopped, in words
  bool interrupted = false;  // stop_requested: model is the best so far, the checkpoint is on disk
  bool diverged = false;     // the loss stopped being finite; model is the last good one
  Progress last;             // means are over sentences
  std::string optimiser;     // the one used (auto resolved)
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

CrfShape shape_of(const SequenceEncoder& encoder);

}  // namespace selfnorm
