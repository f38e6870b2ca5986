// How the training of a model of classes ends: with the ladder, fitted to and certified on held-out inputs.
#pragma once

#include "base/option_table.h"
#include "data/example_source.h"
#include "family/classifier/normalize/ladder_fit.h"
#include "family/classifier/options.h"

namespace selfnorm {

// A ladder that is worth so much training of so many examples: inputs that a fifth of its operations allow,
// no fewer than certify something, and only rungs that can be the cheapest.
LadderOptions ladder_after(const TrainOptions& training, uint64_t examples, const ModelFile& model,
                           LadderOptions options);

// What a training is told of it, into these.
OptionTable training_ladder_option_table(double& within, double& rho, double& confidence, bool& no_ladder);

struct TrainingLadder {
  double within = runtime::kWithin, rho = runtime::kWithinShare, confidence = runtime::kWithinConfidence;
  bool no_ladder = false;

  LadderOptions options(uint64_t seed) const;
};
inline OptionTable training_ladder_option_table(TrainingLadder& l) {
  return training_ladder_option_table(l.within, l.rho, l.confidence, l.no_ladder);
}

}  // namespace selfnorm
