// A CRF that labels one sentence after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "data/sentences/read_sequences.h"
#include "grammar/arguments.h"
#include "model/crf/crf_model.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/decode.h"

namespace selfnorm::cli {

struct TaggedSentence {
  SentenceText text;
  std::vector<Labelling> labellings;  // best first
  std::vector<double> log_prob;       // of each, or empty
  std::vector<float> marginals;       // tokens x labels, or empty
};

struct ReadSentence {
  Sequences data;
  SentenceText text;
};

// Decodes sentences with room that it keeps; one for each unit of work. `factors` are those of the model.
class Tagger {
 public:
  Tagger(const CrfModel& model, const PairFactors<float>& factors, const TagArguments& given)
      : model_(model), factors_(factors), given_(given), scorer_(model.shape, model.theta) {}

  TaggedSentence operator()(ReadSentence&& read, uint64_t number);

 private:
  void draw(const CrfScores& scores, uint64_t number, std::vector<Labelling>& out) const;

  const CrfModel& model_;
  const PairFactors<float>& factors_;
  const TagArguments& given_;
  CrfScorer scorer_;
  Lattice lattice_;
};

}  // namespace selfnorm::cli
