// A dense network on a block of rows, forward and back (model/network/dense_network.h has the formulas).
#pragma once

#include <span>
#include <vector>

#include "model/network/dense_weights.h"

namespace selfnorm {

inline constexpr size_t kDenseRows = 64;  // in a block, at least, where there are so many

// Where the results of a layer go: rows panel_stride(out) apart.
struct DenseLayerRows {
  float* value;  // a_l
  float* slope;  // f'(z_l), or null
};
// out (rows x outputs, contiguous). The memory of layer l may be that of layer l - 2.
void dense_forward(const DenseWeights& weights, const InputRows& x, std::span<const DenseLayerRows> layers,
                   float* out);

// The gradient of some rows without that of the embeddings, its matrices transposed and in whole panels, as
// products write them.
class DenseGradient {
 public:
  explicit DenseGradient(const DenseWeights& weights);

  void clear();
  float* weight(size_t l) { return values_.data() + place_[l]; }  // in x out, rows panel_stride(out) apart
  float* bias(size_t l) { return values_.data() + bias_[l]; }

  void add(const DenseGradient& other);
  void add_to(const DenseWeights& weights, std::span<float> total) const;

 private:
  std::vector<size_t> place_, bias_;
  AlignedFloats values_;
};

// What a forward keeps of a block for the way back.
class DenseBlock {
 public:
  // What is only needed on the way back, by one block after the other.
  struct Scratch {
    AlignedFloats delta, local;
  };

  void forward(const DenseWeights& weights, const InputRows& x, float* out);
  // d (rows x outputs); dx (rows x inputs) or null.
  void backward(const DenseWeights& weights, const float* d, Scratch& scratch, DenseGradient& gradient,
                float* dx);
  // dE_k[level] += D_1 of the last backward.
  void add_embedding_gradient(const DenseWeights& weights, std::span<float> gradient) const;

 private:
  void reserve(const DenseWeights& weights, size_t rows);

  InputRows x_;
  size_t capacity_ = 0;  // rows
  AlignedFloats memory_;
  std::vector<DenseLayerRows> layers_;
  float* first_ = nullptr;  // D_1; null without categorical inputs
};

}  // namespace selfnorm
