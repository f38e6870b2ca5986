// How the training of a model of classes ends: with the ladder, fitted to and certified on held-out inputs.
#pragma once

#include "data/example_source.h"
#include "family/classifier/normalize/ladder_fit.h"
#include "family/classifier/options.h"

namespace selfnorm {

// A ladder that is worth so much training of so many examples: inputs that a fifth of its operations allow,
// no fewer than certify something, and only rungs that can be the cheapest.
LadderOptions ladder_after(const TrainOptions& training, uint64_t examples, const ModelFile& model,
                           LadderOptions options);

}  // namespace selfnorm
