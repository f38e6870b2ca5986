// What the training of a language model in memory can be told: that of the model, and that of its ladder.
#pragma once

#include "base/option_table.h"
#include "family/classifier/normalize/training_ladder.h"
#include "family/lm/lm_options.h"

namespace selfnorm {

inline OptionTable language_model_option_table(LanguageOptions& options, TrainingLadder& ladder) {
  OptionTable table = language_option_table(options);
  table.append(training_ladder_option_table(ladder));
  return table;
}

}  // namespace selfnorm
