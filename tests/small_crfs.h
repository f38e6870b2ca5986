// Small random sentences and CRFs, and the normalizer of a sentence by enumeration of its labellings.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "data/sentences/sequences.h"
#include "math/random.h"
#include "model/crf/crf_model.h"

namespace selfnorm::test {

struct CrfPlan {
  uint64_t sentences = 20, longest = 5;
  uint32_t labels = 3;
  uint64_t unigrams = 8, bigrams = 0;
  bool has_transitions = true, has_values = false;
  uint64_t seed = 1;

  CrfShape shape() const { return {labels, unigrams, bigrams, has_transitions}; }
};

inline void add_row(AttributeRows& rows, uint64_t attributes, double share, RandomStream& random,
                    bool has_values) {
  for (uint32_t a = 0; a < attributes; ++a) {
    if (random.uniform() >= share) continue;
    rows.attribute.push_back(a);
    if (has_values) rows.value.push_back(static_cast<float>(0.5 + random.uniform()));
  }
  rows.begin.push_back(rows.attribute.size());
}

// A label follows the first attribute of its token or the label before, so that there is something to learn.
inline Sequences random_sequences(const CrfPlan& plan) {
  RandomStream random(plan.seed, 1);
  Sequences data;
  for (uint64_t i = 0; i < plan.sentences; ++i) {
    const uint64_t length = 1 + random.below(plan.longest);
    for (uint64_t t = 0; t < length; ++t) {
      const uint64_t first = data.unigram.attribute.size();
      add_row(data.unigram, plan.unigrams, 0.4, random, plan.has_values);
      if (plan.bigrams > 0) add_row(data.bigram, t == 0 ? 0 : plan.bigrams, 0.4, random, plan.has_values);
      const double luck = random.uniform();
      uint64_t label = random.below(plan.labels);
      if (luck < 0.5 && data.unigram.attribute.size() > first)
        label = data.unigram.attribute[first] % plan.labels;
      else if (luck < 0.7 && t > 0)
        label = (data.label.back() + 1) % plan.labels;
      data.label.push_back(static_cast<uint32_t>(label));
    }
    data.sentence_begin.push_back(data.label.size());
  }
  return data;
}

inline std::vector<std::string> numbered(const std::string& prefix, uint64_t n) {
  std::vector<std::string> out;
  for (uint64_t i = 0; i < n; ++i) out.push_back(prefix + std::to_string(i));
  return out;
}

inline SequenceEncoder small_encoder(const CrfPlan& plan) {
  SequenceEncoder encoder;
  encoder.format = SequenceFormat::attributes;
  encoder.labels = numbered("L", plan.labels);
  encoder.unigrams = numbered("u", plan.unigrams);
  encoder.bigrams = numbered("b", plan.bigrams);
  encoder.has_transitions = plan.has_transitions;
  return encoder;
}

inline CrfModel random_crf(const CrfPlan& plan) {
  RandomStream random(plan.seed, 2);
  CrfModel model;
  model.encoder = small_encoder(plan);
  model.shape = plan.shape();
  for (size_t i = 0; i < model.shape.size(); ++i) model.theta.push_back(static_cast<float>(random.normal()));
  return model;
}

// s(x,y) by its definition.
inline double direct_score(const CrfModel& model, const Sequences& data, uint64_t sentence,
                           const std::vector<uint32_t>& y) {
  const CrfShape& shape = model.shape;
  const size_t labels = shape.labels;
  double score = 0;
  const auto theta = [&](size_t i) { return static_cast<double>(model.theta[i]); };
  for (uint64_t t = 0; t < y.size(); ++t) {
    const uint64_t row = data.sentence_begin[sentence] + t;
    const auto each = [&](const AttributeRows& rows, const auto& weight) {
      for (size_t i = 0; i < rows.attributes(row).size(); ++i)
        score += (rows.value.empty() ? 1.0 : static_cast<double>(rows.values(row)[i])) *
                 weight(rows.attributes(row)[i]);
    };
    score += theta(shape.bias() + y[t]);
    each(data.unigram, [&](size_t a) { return theta(a * labels + y[t]); });
    if (t == 0) continue;
    const size_t pair = y[t - 1] * labels + y[t];
    if (shape.has_transitions) score += theta(shape.transition() + pair);
    if (data.bigram.rows() > 0)
      each(data.bigram, [&](size_t a) { return theta(shape.pair() + a * labels * labels + pair); });
  }
  return score;
}

// visit(labelling) for all of them.
template <class Visit>
void for_each_labelling(uint32_t labels, uint64_t length, const Visit& visit) {
  std::vector<uint32_t> y(length, 0);
  for (;;) {
    visit(y);
    uint64_t t = 0;
    while (t < length && ++y[t] == labels) y[t++] = 0;
    if (t == length) return;
  }
}

inline double enumerated_log_z(const CrfModel& model, const Sequences& data, uint64_t sentence) {
  std::vector<double> scores;
  for_each_labelling(model.shape.labels, data.length(sentence), [&](const std::vector<uint32_t>& y) {
    scores.push_back(direct_score(model, data, sentence, y));
  });
  double most = scores[0], sum = 0;
  for (const double s : scores) most = std::max(most, s);
  for (const double s : scores) sum += std::exp(s - most);
  return most + std::log(sum);
}

inline std::vector<uint32_t> labels_of(const Sequences& data, uint64_t sentence) {
  return {data.label.begin() + static_cast<ptrdiff_t>(data.sentence_begin[sentence]),
          data.label.begin() + static_cast<ptrdiff_t>(data.sentence_begin[sentence + 1])};
}

}  // namespace selfnorm::test
