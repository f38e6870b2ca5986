// Rows of weights and biases of an output layer with the optimiser of each.
#pragma once

#include <string>

#include "selfnorm/engine/checkpoint.h"
#include "selfnorm/model/model_file.h"
#include "selfnorm/optim/row_adagrad.h"

namespace selfnorm {

// A matrix of a network in training. AdaGrad's G0 is kInitialSquare: the loss is a sum over the examples of
// a minibatch, so a derivative of one score is of the order of 1.
class TrainedRows {
 public:
  static constexpr double kInitialSquare = 1e-4;

  // `values` has rows of `columns`; it is kept by reference.
  TrainedRows(std::vector<float>& values, size_t columns, double decay);

  const float* row(size_t r) const { return values_.data() + r * columns_; }
  size_t columns() const { return columns_; }
  void begin_step(double rate) { optimiser_.begin_step(rate); }
  void update(size_t row, const float* gradient) { optimiser_.update(values_.data(), row, gradient); }
  void settle() { optimiser_.settle(values_.data()); }

  void save(const std::string& name, Checkpoint& checkpoint) const;
  void restore(const std::string& name, const Checkpoint& checkpoint);

 private:
  std::vector<float>& values_;
  size_t columns_;
  RowAdagrad optimiser_;
};

class OutputLayer {
 public:
  OutputLayer(ModelFile& model, double decay);

  uint32_t states() const { return static_cast<uint32_t>(weight_.columns()); }
  const float* weight(size_t k) const { return weight_.row(k); }
  // log h(k) + c_k
  float offset(size_t k) const { return *bias_.row(k) + (carrier_.empty() ? 0.0f : carrier_[k]); }
  double score(size_t k, const float* state) const;

  void begin_step(double rate);
  void update(size_t k, const float* gradient, float d_bias);
  void settle() { weight_.settle(); }

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  TrainedRows weight_, bias_;
  std::span<const float> carrier_;
};

}  // namespace selfnorm
