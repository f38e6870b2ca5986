// Trains a linear chain (model/chain/chain_model.h) from sentences: full passes (L-BFGS, OWL-QN) or AdaGrad
// by minibatches of sentences, with the loops, early stopping and checkpoints of every other model.
#pragma once

#include <optional>
#include <string>

#include "selfnorm/data/sequence/sequences.h"
#include "selfnorm/engine/engine.h"
#include "selfnorm/model/chain/chain_model.h"
#include "selfnorm/train/chain_options.h"

namespace selfnorm {

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
