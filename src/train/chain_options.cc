#include "selfnorm/train/chain_options.h"

#include <fmt/format.h>

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"

namespace selfnorm {

void ChainOptions::validate() const {
  require_one_of("objective", objective.name, {"exact", "penalty", "constraint", "sampled"});
  require_one_of("optimiser", optimiser, {"auto", "lbfgs", "adagrad"});
  if (objective.centre || objective.learn_centre)
    throw Error(
        "--centre is not an option of chains, whose biases bring log Z to 0 for sentences of every length; "
        "leave it out");
  loop_options().validate();
}

TrainOptions ChainOptions::loop_options() const {
  TrainOptions out;
  out.objective = objective;
  out.l2 = l2;
  out.l1 = l1;
  out.optimiser = optimiser;
  out.iterations = iterations;
  out.tolerance = tolerance;
  out.history = history;
  out.epochs = epochs;
  out.batch = batch;
  out.learning_rate = learning_rate;
  out.patience = patience;
  out.calibrate = calibrate;
  out.seed = seed;
  out.threads = threads;
  return out;
}

}  // namespace selfnorm
