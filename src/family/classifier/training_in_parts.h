// Training of a log-linear classifier on rows that are not all there at once: every part of them gives one
// pass of minibatches, from where the part before ended.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "family/classifier/options.h"
#include "model/model_file.h"
#include "optim/adaptive.h"

namespace selfnorm {

// Where it stands.
struct OngoingTraining {
  std::vector<float> theta;        // feature-major, then the centre where it is learned; empty: at the start
  double log_normalizer = 0;       // c of the model that was made of it: where a centre starts
  std::string optimiser_name;      // whose state it is; another one starts anew
  AdaptiveState<float> optimiser;  // no squares: of no step yet
  double rate = 0;  // of its steps where none is given, for exact; 0: to be found on the first rows
};

// From a model that was trained otherwise.
OngoingTraining ongoing_training(const ModelFile& model);

// The model after these rows, whose labels are all the classes there will be: some may have no row. Dense
// rows are taken as they are, not standardised. c is the centre of the objective, and the mean of log Z on
// these rows where it has none. Throws Error for objectives and optimisers that need all rows.
ModelFile train_part(const Dataset& rows, const TrainOptions& options, OngoingTraining& ongoing);

}  // namespace selfnorm
