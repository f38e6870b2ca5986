#include "selfnorm/train/chain_options.h"

#include "selfnorm/base/error.h"

namespace selfnorm {

void ChainOptions::validate() const {
  ChainOptions copy = *this;
  train_option_table("crf", copy).validate();
  if (objective.centre || objective.learn_centre)
    throw Error(
        "--centre is not an option of chains, whose biases bring log Z to 0 for sentences of every length; "
        "leave it out");
  TrainOptions::validate();
}

}  // namespace selfnorm
