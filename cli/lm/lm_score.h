// `score` of a language model: log-probabilities of the words of sentences, as they come.
#pragma once

#include "classifier/model_header.h"
#include "grammar/arguments.h"

namespace selfnorm::cli {

// TSV: after a line "# KIND", lines "sentence<TAB>word<TAB>log_prob<TAB>kind", with a fifth field "unknown"
// where the word was scored as <unk>; the last word of a sentence is </s>, and then comes
// "sentence<TAB><total><TAB>log_prob<TAB>kind<TAB>tokens<TAB>unknown". Sentences count from 0.
int score_sentences(const Arguments& arguments);

}  // namespace selfnorm::cli
