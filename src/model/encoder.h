// What comes before the scores: the hidden state h(x) that the output layer multiplies, s_k = w_k . h + c_k.
//     bag      v = sum_j a_j E[id_j] / sum_j |a_j|      the mean of the embeddings of the features of x
//     context  v = (E[w_1], ..., E[w_{n-1}])            the last n-1 words, the oldest first
//     h = v, or max(0, U v + t) with a hidden layer of m units
// Gradients, with d = dh [h > 0]:  dU = d v^T,  dt = d,  dv = U^T d (without a hidden layer dv = dh),
//     dE[id_j] += a_j dv / sum |a|    or    dE[w_i] += the i-th part of dv.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/corpus/token_corpus.h"
#include "data/dataset.h"
#include "data/example_source.h"
#include "model/multiclass.h"
#include "selfnorm/runtime/model_layout.h"

namespace selfnorm {

using runtime::EncoderKind;

struct Encoder {
  EncoderKind kind = EncoderKind::None;
  uint32_t inputs = 0;     // R, rows of E; context: the words, then one more that stands before a sentence
  uint32_t width = 0;      // e
  uint32_t positions = 1;  // context: n - 1
  std::vector<float> embedding;      // E, R x e
  std::vector<float> hidden_weight;  // U, m x p; empty: no hidden layer
  std::vector<float> hidden_bias;    // t, m

  bool exists() const { return kind != EncoderKind::None; }
  uint32_t hidden() const { return static_cast<uint32_t>(hidden_bias.size()); }
  uint32_t pooled() const { return width * positions; }                   // p, the size of v
  uint32_t states() const { return hidden() > 0 ? hidden() : pooled(); }  // the size of h

  bool operator==(const Encoder&) const = default;
};

// Rows of inputs. bag: ids with values whose magnitudes sum to 1 in every row (or an empty row, whose v is
// 0). context: exactly `positions` ids a row, no values.
struct TokenRows {
  std::vector<uint64_t> begin{0};
  std::vector<uint32_t> id;
  std::vector<float> value;

  uint64_t rows() const { return begin.size() - 1; }
  void clear();
};

// The rows of a sparse matrix as a bag, values divided by their sum of magnitudes.
void append_bag(const SparseMatrix& x, uint64_t row, TokenRows& out);

// v of the rows of the range, tight: size x p.
void pool(const Encoder& encoder, const TokenRows& rows, Range range, float* out);
// h of `rows` rows from their v, rows x states(): a copy without a hidden layer.
void hidden_states(const Encoder& encoder, uint64_t rows, const float* pooled, float* out);

// In parallel: h of every row of sparse features, as dense features: what a model with an encoder scores.
Features encode(const Encoder& encoder, const Features& x);
// The same of rows that are there already.
Features encode(const Encoder& encoder, const TokenRows& rows);

// Inputs of a model with an encoder as states h, a block at a time: what everything that works on dense
// features (evaluation, audit, normalisation) reads.
// The contexts of the examples listed, one row each; replaces `out`.
void gather_contexts(const TokenCorpus& corpus, std::span<const uint64_t> examples, uint32_t positions,
                     TokenRows& out);

// h of every position of a corpus, with the word there as target. Keeps a reference to the encoder.
std::unique_ptr<ExampleSource> corpus_states(const Encoder& encoder, TokenCorpus corpus);

// h of every example of a source of sparse rows. Keeps a reference to the encoder.
std::unique_ptr<ExampleSource> bag_states(const Encoder& encoder, std::unique_ptr<ExampleSource> inputs);

}  // namespace selfnorm
