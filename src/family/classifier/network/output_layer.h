// Rows of weights and biases of an output layer with the optimiser of each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint.h"
#include "model/model_file.h"
#include "optim/row_adagrad.h"

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

// Which positions of a list name which row: what a lazy update of rows goes by. Rows come in the order of
// their first position and positions in rising order, so sums over them have the same bits always. The cost
// is that of the list; memory is one number per row that can be named.
class Occurrences {
 public:
  // Rows are below `rows`.
  explicit Occurrences(size_t rows);

  // Replaces what was there.
  void group(std::span<const uint32_t> list);

  size_t size() const { return row_.size(); }  // distinct rows
  uint32_t row(size_t slot) const { return row_[slot]; }
  std::span<const uint32_t> positions(size_t slot) const;
  // The positions of a row, perhaps none.
  std::span<const uint32_t> positions_of(uint32_t row) const;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;

  std::vector<uint32_t> slot_;  // of a row, or kNone
  std::vector<uint32_t> row_;
  std::vector<uint32_t> end_;  // of a slot's positions
  std::vector<uint32_t> position_;
};

}  // namespace selfnorm
