// What the training of a CRF in memory can be told: that of the model, and how tokens become attributes.
#pragma once

#include "base/option_table.h"
#include "family/crf/crf_trainer.h"

namespace selfnorm {

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

}  // namespace selfnorm
