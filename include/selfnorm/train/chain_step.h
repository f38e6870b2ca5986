// One minibatch of sentences: the part of chain training that the loop of minibatches (train/loop.h) leaves
// to the model. The normalised fraction of `sampled` is the head of the batch.
#pragma once

#include <memory>

#include "selfnorm/data/sentences/sequences.h"
#include "selfnorm/model/crf/crf_model.h"
#include "selfnorm/train/minibatch_step.h"

namespace selfnorm {

// Keeps references. `batch` is the number of sentences of a step.
std::unique_ptr<MinibatchStep<float>> make_chain_step(const Sequences& train, const CrfShape& shape,
                                                      const TrainOptions& options, uint64_t batch);

}  // namespace selfnorm
