// The multiclass log-linear model [ARJK 2]: s_k(x) = log h(k) + w_k . x + c_k.
//
// Parameters theta are a (d+1) x K row-major matrix: row j holds the weights of feature j for every class,
// row d the biases. A sparse x then reads (and its gradient writes) whole contiguous rows, and a dense batch
// is one GEMM.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace selfnorm {

struct Range {
  uint64_t begin = 0, end = 0;
  uint64_t size() const { return end - begin; }
};

// The features of a minibatch may be renumbered 0 .. u-1; `feature[j]` is then what column j was.
struct FeatureMap {
  std::vector<uint32_t> feature;  // empty: columns are the original features
};

template <class Real>
class Multiclass {
 public:
  // Keeps references: features, map and carrier (K values of log h, or empty) must outlive the model.
  Multiclass(const Features& x, uint32_t classes, uint32_t features, std::span<const float> log_carrier,
             const FeatureMap* map = nullptr);

  uint64_t rows() const { return x_.rows(); }
  uint32_t classes() const { return classes_; }
  size_t parameters() const { return (size_t{features_} + 1) * classes_; }
  // (u+1) x K: the gradient has one row per column of x, then the biases.
  size_t gradient_size() const { return (size_t{x_.columns()} + 1) * classes_; }

  // out (rows x classes of the tile, tight) <- s_k(x_i)
  void scores(std::span<const Real> theta, Range rows, Range tile, Real* out) const;
  // gradient += sum over the tile of d_scores[i][k] * d s_k(x_i) / d theta
  void backward(Range rows, Range tile, const Real* d_scores, Real* gradient) const;

  // The same for one (row, class): a single score without the others.
  double score(std::span<const Real> theta, uint64_t row, uint32_t k) const;
  void backward(uint64_t row, uint32_t k, double d_score, Real* gradient) const;

 private:
  const Features& x_;
  uint32_t classes_;
  uint32_t features_;
  std::span<const float> log_carrier_;
  const uint32_t* map_;
};

// theta with zero weights and biases -log sum_k h(k) (-log K when h = 1): the model starts normalised.
template <class Real>
std::vector<Real> initial_parameters(uint32_t classes, uint32_t features, std::span<const float> log_carrier);

// The joint-feature model (conditional logit) [ARJK 2]: s(x,y) = eta . T(x,y) for the alternatives y of
// example x. Rows of the data are the alternatives T(x,y); a group of rows is one x. theta = eta, d numbers.
template <class Real>
class Joint {
 public:
  Joint(const Features& alternatives, uint32_t features) : x_(alternatives), features_(features) {}

  uint64_t rows() const { return x_.rows(); }
  size_t parameters() const { return features_; }

  double score(std::span<const Real> theta, uint64_t row) const;
  // gradient += d_score T(row)
  void backward(uint64_t row, double d_score, Real* gradient) const;

 private:
  const Features& x_;
  uint32_t features_;
};

}  // namespace selfnorm
