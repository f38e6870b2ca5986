// What the training of a classifier in memory can be told: that of the model, its ladder, and that of texts.
#pragma once

#include "base/option_table.h"
#include "data/text/text_encoder.h"
#include "family/classifier/normalize/training_ladder.h"
#include "family/classifier/options.h"

namespace selfnorm {

struct ClassifierOptions {
  TrainOptions training;
  TextOptions text;
  TrainingLadder ladder;
};

inline OptionTable classifier_option_table(ClassifierOptions& options) {
  OptionTable table = train_option_table("classifier", options.training);
  table.append(training_ladder_option_table(options.ladder));
  table.append(text_option_table(options.text));
  return table;
}

}  // namespace selfnorm
