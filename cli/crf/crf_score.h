// `score` of CRFs: the log-probability of the labels of every sentence.
#pragma once

#include "grammar/arguments.h"
#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/lattice.h"
#include "selfnorm.h"

namespace selfnorm::cli {

// log p(y|x) of a sentence's own labels: raw s(x,y), amortised s(x,y) - b(x), both O(T) with s summed in
// double from the weights (target_score), or exact s(x,y) - log Z(x) <= 0, with s and Z of the same rounded u
// and v (Lattice::log_prob), as `tag` gives it. Keeps a reference to the model, and room.
class LabellingScore {
 public:
  LabellingScore(const CrfModel& model, selfnorm_kind kind);
  double operator()(const Sequences& data, uint64_t sentence);

 private:
  const CrfModel& model_;
  selfnorm_kind kind_;
  CrfScorer scorer_;
  PairFactors<float> factors_;
  Lattice lattice_;
};

int score_labellings(const Arguments& arguments);

}  // namespace selfnorm::cli
