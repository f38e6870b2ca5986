// A linear-chain conditional random field. For labels y_1 .. y_T of a sentence x,
//     s(x,y) = sum_t u_t(y_t) + sum_{t>=2} v_t(y_{t-1}, y_t),
//     u_t(k) = bias_k + sum_{a at t} value_a W[a,k],      v_t(j,k) = M[j,k] + sum_{a at t} value_a P[a,j,k],
//     p(y|x) = exp(s(x,y) - A(x)).
// Self-normalised, A(x) is near 0 for sentences of every length: the bias holds a constant per position.
// Parameters in one vector: W (unigrams x L), M (L x L), P (bigrams x L x L), bias (L), row-major, in this
// order: those that are regularised come first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/sentences/read_sequences.h"
#include "data/sentences/sequences.h"

namespace selfnorm {

struct CrfShape {
  uint32_t labels = 0;
  uint64_t unigrams = 0, bigrams = 0;
  bool has_transitions = true;

  size_t transition() const { return unigrams * labels; }  // where it begins
  size_t pair() const { return transition() + (has_transitions ? size_t{labels} * labels : 0); }
  size_t bias() const { return pair() + bigrams * labels * labels; }
  size_t size() const { return bias() + labels; }
};

// b(x) = per_sentence + per_position T + sum over positions t and their unigram attributes a of value_a
// slope_a; log-probabilities are s - b.
struct CrfNormalizer {
  bool exists = false;
  double per_position = 0, per_sentence = 0;
  std::vector<float> slope;  // unigrams, or empty
};

struct CrfModel {
  SequenceEncoder encoder;
  CrfShape shape;
  std::vector<float> theta;  // shape.size()
  CrfNormalizer normalizer;
  std::string objective_json = "{}", training_json = "{}", audit_json = "{}";
};

// One .safetensors file, family "chain"; whole or not at all. Throw Error.
void save_crf(const CrfModel& model, const std::string& path);
CrfModel load_crf(const std::string& path);

// Of every position: one of the model, one of the model or of the unseen ones, or either or none.
enum class NeededLabels { known, any, none };

// Throws Error saying what does not fit: no sentences, an empty one, rows that are not one a position,
// attributes beyond those of the model, values that are not finite, labels other than those needed. `role`
// names the data, as in "the training data".
void check_sequences(const Sequences& data, const CrfShape& shape, const char* role, NeededLabels needed);

}  // namespace selfnorm
