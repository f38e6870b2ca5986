// Chains small enough to enumerate, and their oracle: all L^T labellings.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "data/sentences/sequences.h"
#include "math/random.h"
#include "model/crf/crf_model.h"
#include "normalizer/crf/decode.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {

template <class Real>
struct OwnedScores {
  uint32_t labels;
  uint64_t length;
  bool has_own_pairs;
  std::vector<Real> unary, pair;

  BasicCrfScores<Real> view() const { return {labels, length, unary, pair, has_own_pairs}; }
};

template <class Real>
OwnedScores<Real> random_scores(uint32_t labels, uint64_t length, bool own, double spread, uint64_t seed) {
  RandomStream random(seed);
  OwnedScores<Real> s{labels, length, own, std::vector<Real>(length * labels),
                      std::vector<Real>((own ? length : 1) * labels * labels)};
  for (Real& u : s.unary) u = static_cast<Real>(spread * random.normal());
  for (Real& v : s.pair) v = static_cast<Real>(spread * random.normal());
  return s;
}

// All labellings, best first; ties in the order of the labels from the last position to the first.
template <class Real>
std::vector<Labelling> all_labellings(const BasicCrfScores<Real>& scores) {
  std::vector<Labelling> all;
  std::vector<uint32_t> y(scores.length);
  while (true) {
    all.push_back({y, crf_score<Real>(scores, y)});
    uint64_t t = 0;
    while (t < y.size() && ++y[t] == scores.labels) y[t++] = 0;
    if (t == y.size()) break;
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return all;
}

struct CrfOracle {
  double log_z = 0, entropy = 0;
  std::vector<double> marginal, pair;  // T x L; L x L, or T x L x L
};

template <class Real>
CrfOracle enumerate(const BasicCrfScores<Real>& scores) {
  const std::vector<Labelling> all = all_labellings(scores);
  CrfOracle out;
  LogSumExp sum;
  for (const Labelling& y : all) sum.add(y.score);
  out.log_z = sum.value();
  out.marginal.resize(scores.length * scores.labels);
  out.pair.resize(scores.pair.size());
  for (const Labelling& y : all) {
    const double p = std::exp(y.score - out.log_z);
    out.entropy += p > 0 ? p * (out.log_z - y.score) : 0;
    for (uint64_t t = 0; t < scores.length; ++t) {
      out.marginal[t * scores.labels + y.labels[t]] += p;
      if (t > 0) {
        const uint64_t at = scores.has_own_pairs ? t * scores.labels * scores.labels : 0;
        out.pair[at + y.labels[t - 1] * scores.labels + y.labels[t]] += p;
      }
    }
  }
  return out;
}

// Sentences of 0 .. longest tokens with random attributes and labels.
struct SmallSequences {
  uint32_t labels = 3, unigrams = 7, bigrams = 0;
  bool has_values = false, has_transitions = true;
  uint64_t sentences = 10, longest = 4;

  CrfShape shape() const { return {labels, unigrams, bigrams, has_transitions}; }
  Sequences make(uint64_t seed) const {
    RandomStream random(seed);
    Sequences data;
    const auto add_row = [&](AttributeRows& rows, uint32_t attributes) {
      for (uint32_t a = 0; a < attributes; ++a) {
        if (random.uniform() > 0.4) continue;
        rows.attribute.push_back(a);
        if (has_values) rows.value.push_back(static_cast<float>(random.normal()));
      }
      rows.begin.push_back(rows.attribute.size());
    };
    for (uint64_t i = 0; i < sentences; ++i) {
      const uint64_t length = random.below(longest + 1);
      for (uint64_t t = 0; t < length; ++t) {
        add_row(data.unigram, unigrams);
        if (bigrams > 0) add_row(data.bigram, t == 0 ? 0 : bigrams);
        data.label.push_back(static_cast<uint32_t>(random.below(labels)));
      }
      data.sentence_begin.push_back(data.label.size());
    }
    return data;
  }
};

// Bigrams, values and transitions, there or not.
inline std::vector<SmallSequences> small_kinds() {
  return {
      {},
      {.labels = 2, .bigrams = 3},
      {.labels = 4, .has_values = true},
      {.bigrams = 2, .has_values = true, .has_transitions = false},
      {.labels = 17, .has_transitions = false, .longest = 2},
  };
}

template <class Real>
std::vector<Real> random_vector(size_t n, double spread, uint64_t seed) {
  RandomStream random(seed);
  std::vector<Real> x(n);
  for (Real& v : x) v = static_cast<Real>(spread * random.normal());
  return x;
}

// Sentences [begin, end) of `data`.
inline Sequences shard(const Sequences& data, uint64_t begin, uint64_t end) {
  Sequences out;
  const auto copy = [](const AttributeRows& from, uint64_t row, AttributeRows& to) {
    const auto a = from.attributes(row);
    to.attribute.insert(to.attribute.end(), a.begin(), a.end());
    const auto v = from.values(row);
    to.value.insert(to.value.end(), v.begin(), v.end());
    to.begin.push_back(to.attribute.size());
  };
  for (uint64_t i = begin; i < end; ++i) {
    for (uint64_t t = data.sentence_begin[i]; t < data.sentence_begin[i + 1]; ++t) {
      copy(data.unigram, t, out.unigram);
      if (data.bigram.rows() > 0) copy(data.bigram, t, out.bigram);
      out.label.push_back(data.label[t]);
    }
    out.sentence_begin.push_back(out.label.size());
  }
  return out;
}

}  // namespace selfnorm
