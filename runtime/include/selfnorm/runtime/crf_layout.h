// What the file of a CRF holds, on top of safetensors, as model_layout.h says it of models of classes.
//   metadata  format "selfnorm", format_version "1", family "chain", labels L, unigrams U, bigrams B (numbers
//             of attributes), transitions (yes | no), normalizer (none | linear), normalizer_per_position,
//             normalizer_per_sentence; sequence_format (columns | conllu | attributes), columns, target,
//             templates; JSON strings: objective, training, audit
//   tensors   bias L, weight U x L, transition L x L, pair B x L x L, normalizer.slope U (optional); all F32,
//             and absent when they have no elements;
//             string lists labels (L), unigrams (U), bigrams (B), each <name>.bytes U8 and <name>.offsets
//             U64; <name>.index U32 of the last two (optional, label_index.h)
// u_t(k) = bias_k + sum_{a at t} value_a weight[a,k],   v_t(j,k) = transition[j,k] + sum value_a pair[a,j,k],
// s(x,y) = sum_t u_t(y_t) + sum_{t>=2} v_t(y_{t-1}, y_t), the raw log-probability of a labelling,
// b(x) = per_sentence + per_position T + sum over t and its unigram attributes a of value_a slope_a.
#pragma once

#include "selfnorm/runtime/model_layout.h"

namespace selfnorm::runtime {

inline constexpr std::string_view kCrfFamily = "chain";

struct CrfNormalizerLayout {
  bool exists = false;
  double per_position = 0, per_sentence = 0;
  std::span<const float> slope;  // U, or empty: all 0
};

struct AttributeTable {
  uint32_t size = 0;
  StringTable names;
  LabelIndex index;

  // kEmptySlot: there is none
  uint32_t find(std::string_view name) const { return find_string(names, index, name); }
};

struct CrfLayout {
  uint32_t labels = 0;  // 0: the file is none of a CRF
  AttributeTable unigrams, bigrams;
  std::span<const float> bias, weight, transition, pair;  // empty: all 0
  StringTable label_names;
  CrfNormalizerLayout normalizer;

  bool exists() const { return labels > 0; }
};

// Numbers of attributes, and a value for each; value null: all are 1.
struct AttributeList {
  const uint32_t* number;
  const float* value;
  size_t count;
};

// sum_i value_i M[number_i][at], in double, added in the order of i; M has rows of `width`, and may be null
// where there are no attributes.
template <class Real>
double attribute_sum(const AttributeList& list, const Real* matrix, size_t width, size_t at) {
  double sum = 0;
  for (size_t i = 0; i < list.count; ++i) {
    const double value = list.value == nullptr ? 1 : static_cast<double>(list.value[i]);
    sum += value * static_cast<double>(matrix[list.number[i] * width + at]);
  }
  return sum;
}

// The weights of a CRF as numbers of any type; transition null: all 0.
template <class Real>
struct CrfWeights {
  size_t labels;
  const Real *bias, *weight, *transition, *pair;
};
struct PositionAttributes {
  AttributeList unigram, bigram;
};
// s(x,y) in double from the weights, O(T): terms are added in the order of t; attributes(t) are those of x.
template <class Real, class Attributes>
double labelling_score(const CrfWeights<Real>& w, std::span<const uint32_t> y, const Attributes& attributes) {
  double sum = 0;
  for (size_t t = 0; t < y.size(); ++t) {
    const PositionAttributes at = attributes(t);
    sum += static_cast<double>(w.bias[y[t]]) + attribute_sum(at.unigram, w.weight, w.labels, y[t]);
    if (t == 0) continue;
    const size_t pair = y[t - 1] * w.labels + y[t];
    if (w.transition != nullptr) sum += static_cast<double>(w.transition[pair]);
    sum += attribute_sum(at.bigram, w.pair, w.labels * w.labels, pair);
  }
  return sum;
}

bool is_crf(const Safetensors& file);
// Checks metadata, tensor names, dtypes, shapes and alignment; touches no tensor data. Throws FormatError.
CrfLayout read_crf_layout(const Safetensors& file, const std::string& name);
// Scans the string lists: offsets that tile the bytes, indices that find every string.
void check_crf_strings(const CrfLayout& layout, const std::string& name);

}  // namespace selfnorm::runtime
