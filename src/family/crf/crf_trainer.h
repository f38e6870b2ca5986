// Trains a linear chain (model/crf/crf_model.h) from sentences: full passes (L-BFGS, OWL-QN) or AdaGrad
// by minibatches of sentences, with the loops, early stopping and checkpoints of every other model.
#pragma once

#include "data/sentences/sequences.h"
#include "engine/engine.h"
#include "family/classifier/options.h"
#include "model/crf/crf_model.h"
#include "objective/registry.h"

namespace selfnorm {

// Loss minimised, over N sentences: (1/N) sum_i (A_i - s_i + penalty_i) + l2/2 |theta|^2 + l1 |theta|_1; the
// biases are not regularised. Wapiti's rho1 and rho2, of the sum over sentences, are l1 N and l2 N.
struct CrfOptions : TrainOptions {
  CrfOptions() {
    l2 = 1e-4;
    batch = 16;  // sentences per step
  }
  // objective: exact | penalty | constraint | sampled. The centre is 0: the biases, one constant per position
  // among them, are free to bring A there. alpha and delta are of A of a sentence.
  // learning_rate: 0 is 1 / rms |x_t|, x_t the attributes of a position.
  // calibrate: penalty, sampled: at the end the least-squares fit of A on (1, T) over the validation data is
  // taken out of the parameters, which leaves p as it is (without transitions: mean A / mean T); without
  // validation data penalty: as trained, sampled: over the training data. false: as trained.

  void validate() const;  // throws Error naming the option, the value and the range
};

struct CrfTrainResult : RunResult {  // means are over sentences
  CrfModel model;  // complete except audit_json, which the caller fills; interrupted: the best so far
};

struct CrfTrainData {
  const Sequences& train;
  const Sequences* valid = nullptr;  // null: no early stopping
  const SequenceEncoder& encoder;
};

// Starts at theta = 0 with biases -log L, where A = 0 for every sentence. Throws Error for data that do not
// fit the encoder, one label, and options out of range.
CrfTrainResult train_crf(const CrfTrainData& data, const CrfOptions& options,
                         const CheckpointOptions& checkpoint, TrainObserver& observer);

CrfShape shape_of(const SequenceEncoder& encoder);

}  // namespace selfnorm
