// What `tag` writes of a sentence, a blank line at the end: the columns of its tokens, the label after them,
// or in the place of the labels where there are none, then what else was asked for; attributes with the label
// in the first field; CoNLL-U again, with the label in the target column, marginals in MISC (p=0.9, or
// p[LABEL]=0.9 with | written \p; those of an earlier `tag` are gone) and its other lines where they were; or
// an object of the list that --json prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/sentences/read_sequences.h"
#include "normalizer/crf/crf_scores.h"

namespace selfnorm::cli {

struct TaggedSentence {
  SentenceText text;
  std::vector<Labelling> labellings;  // best first
  std::vector<double> log_prob;       // of each, or empty
  std::vector<float> marginals;       // tokens x labels, or empty
};

struct TagSheetOptions {
  bool json = false;
  bool numbers_labellings = false;  // even without log-probabilities
  bool all_marginals = false;       // of every label, not of the token's alone
  std::string kind = {};            // of log-probabilities
};

class TagSheet {
 public:
  // Keeps a reference to the encoder that reads the data.
  TagSheet(const TagSheetOptions& options, const SequenceEncoder& encoder)
      : options_(options), encoder_(encoder), labels_(encoder.labels) {}

  // Of the sentence with this number, from 0; without the end of the last line.
  std::string sentence(uint64_t number, const TaggedSentence& tagged) const;

 private:
  std::string text_of(uint64_t number, const TaggedSentence& tagged) const;
  std::string json_of(uint64_t number, const TaggedSentence& tagged) const;
  std::string columns_of(const TaggedSentence& tagged, size_t token, uint32_t label) const;
  std::string conllu_of(const TaggedSentence& tagged, size_t token, uint32_t label) const;
  // write(label, probability) of those asked for.
  template <class Write>
  void for_marginals(const TaggedSentence& tagged, size_t token, uint32_t label, Write write) const;

  TagSheetOptions options_;
  const SequenceEncoder& encoder_;
  const std::vector<std::string>& labels_;
};

}  // namespace selfnorm::cli
