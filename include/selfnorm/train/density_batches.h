// The minibatches of training rows, standardised, in an order that depends on the seed and the step alone.
#pragma once

#include <span>
#include <vector>

#include "selfnorm/train/density_problem.h"
#include "selfnorm/train/shuffled_order.h"

namespace selfnorm {

class DensityBatches {
 public:
  DensityBatches(const DensityProblem& problem, std::span<const uint64_t> train_rows);

  uint64_t rows() const { return rows_; }            // of a minibatch
  uint64_t per_epoch() const { return per_epoch_; }  // minibatches
  void read(uint64_t step);
  Points points() const {
    return {points_.data(), rows_, problem_.energy().dimension()};
  }  // of the last read

 private:
  const DensityProblem& problem_;
  std::span<const uint64_t> train_rows_;
  ShuffledOrder order_;
  uint64_t rows_, per_epoch_;
  std::vector<uint64_t> places_;
  std::vector<float> points_;
};

}  // namespace selfnorm
