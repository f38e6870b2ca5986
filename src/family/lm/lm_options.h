// What the training of a language model can be told, and the network it makes of that.
#pragma once

#include "data/corpus/token_corpus.h"
#include "family/classifier/network/network_trainer.h"

namespace selfnorm {

class OptionTable;

inline constexpr double kHeldOutSentences = 0.05;  // when nobody says

// snl with 200 noise words, embeddings of 64 numbers, 128 hidden units.
TrainOptions language_defaults();

struct LanguageOptions {
  TrainOptions training = language_defaults();
  uint32_t order = 5;  // n: a word is predicted from the n - 1 before it; 2..16
  VocabularyOptions vocabulary;

  void validate() const;  // throws Error naming the option, the value and the range
};
OptionTable order_option_table(uint32_t& order);
OptionTable language_option_table(LanguageOptions& options);

// Without embeddings to start from.
EncoderPlan language_plan(const LearnedCorpus& corpus, uint32_t order);

}  // namespace selfnorm
