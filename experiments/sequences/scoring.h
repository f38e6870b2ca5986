// How long the log-probability of a given labelling takes, raw and exact, of random sentences.
#pragma once

#include <cstdint>
#include <vector>

#include "data/sentences/sequences.h"
#include "model/crf/crf_model.h"

namespace selfnorm {

struct RandomCrf {
  CrfShape shape;
  std::vector<float> theta;
  Sequences data;
};

struct RandomCrfOptions {
  uint32_t labels = 2;
  uint64_t length = 1;           // of every sentence
  uint64_t tokens = 1;           // of all sentences, at least
  uint64_t attributes = 20'000;  // there are, at least as many as a token has
  uint64_t at_token = 20;        // as many as the templates of tagging make
  uint64_t seed = 1;
};

// Attributes, labels uniform; weights of attributes N(0, 0.1), of transitions N(0, 1).
RandomCrf random_crf(const RandomCrfOptions& options);

// Medians over repeats of the seconds of a sentence, on the calling thread; raw and exact take turns.
struct ScoringTimes {
  double raw = 0;     // s(x,y) of the given labels: O(T)
  double scores = 0;  // the part of exact that is u_t(k) of every label: O(T L)
  double exact = 0;  // s - A: scores and the forward recursion, O(T L^2); exp of the transitions is made once
  double raw_sum = 0;    // of s
  double exact_sum = 0;  // of s - A, both over all sentences
};
ScoringTimes scoring_times(const RandomCrf& crf, size_t repeats);

}  // namespace selfnorm
