#include "family/lm/lm_options.h"

#include "base/option_table.h"
#include "selfnorm/runtime/model_layout.h"

namespace selfnorm {

TrainOptions language_defaults() {
  TrainOptions o;
  o.objective.name = "snl";
  o.objective.samples = 200;
  o.encoder.kind = "context";
  o.encoder.dimension = 64;
  o.encoder.hidden = 128;
  o.l2 = 0;
  o.epochs = 5;
  o.batch = 512;
  o.patience = 2;
  return o;
}

OptionTable order_option_table(uint32_t& order) {
  OptionTable table;
  table.add("order", &order, "n: a word is predicted from the n - 1 before it")
      .in(2, runtime::kMostPositions + 1);
  return table;
}

OptionTable language_option_table(LanguageOptions& o) {
  OptionTable table = order_option_table(o.order);
  table.append(vocabulary_option_table(o.vocabulary));
  table.append(train_option_table("lm", o.training));
  return table;
}

void LanguageOptions::validate() const {
  LanguageOptions copy = *this;
  order_option_table(copy.order).validate();
  vocabulary.validate();
  training.validate();
}

EncoderPlan language_plan(const LearnedCorpus& corpus, uint32_t order) {
  EncoderPlan plan;
  plan.kind = EncoderKind::Context;
  plan.inputs = corpus.vocabulary.size() + 1;
  plan.positions = order - 1;
  plan.classes = corpus.vocabulary.size();
  plan.examples = corpus.train.examples();
  return plan;
}

}  // namespace selfnorm
