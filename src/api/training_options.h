// What training in memory can be told, by the family: that of the model and its ladder, and how its data are
// read.
#pragma once

#include "base/option_table.h"
#include "data/text/text_encoder.h"
#include "family/classifier/normalize/training_ladder.h"
#include "family/classifier/options.h"
#include "family/crf/crf_trainer.h"
#include "family/lm/lm_options.h"

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

struct CrfTrainOptions {
  CrfOptions training;
  std::string templates;
  uint32_t min_count = 1;
};

inline OptionTable crf_option_table(CrfTrainOptions& options) {
  OptionTable table = train_option_table("crf", options.training);
  table.add("templates", &options.templates,
            "tokens: what makes their attributes, a line such as U00:%x[0,0] each; empty: those of tagging "
            "for one column, of chunking for more");
  table.add("min-count", &options.min_count, "Attributes seen less often in training are left out")
      .at_least(1);
  return table;
}

inline OptionTable language_model_option_table(LanguageOptions& options, TrainingLadder& ladder) {
  OptionTable table = language_option_table(options);
  table.append(training_ladder_option_table(ladder));
  return table;
}

}  // namespace selfnorm
