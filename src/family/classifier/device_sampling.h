// Minibatches of a candidate objective on a GPU (gpu/module_classes.h): draws, the lists of their uses and
// the states go up, the terms of every row and the derivatives of the states come down, and those of the rows
// of weights that were used stay there. The draws are those of the CPU.
#pragma once

#include <span>
#include <vector>

#include "family/classifier/network/output_step.h"
#include "family/classifier/noise_draw.h"
#include "gpu/device.h"
#include "objective/registry.h"

namespace selfnorm {

class DeviceSampling {
 public:
  // Scores are w_k . state + bias_k + log h(k) of weights and biases on the device, which stay there.
  struct Layer {
    size_t classes, columns;
    const float* weight;
    const float* bias;  // or null
    std::span<const float> log_carrier;
  };
  struct Options {
    size_t rows;           // of a minibatch, at most
    double most_push = 0;  // selfnorm_sampled_step
    bool wants_states = true;
  };
  DeviceSampling(const GpuDevice& device, const ObjectiveOptions& objective, uint64_t seed,
                 std::span<const uint64_t> counts, const Layer& layer, const Options& options);

  struct Rows {
    std::span<const float> states;  // tight
    std::span<const uint32_t> target;
    std::span<const double> b, factor;  // factor: of the derivatives of a row
  };
  // With the draws of minibatch `step`.
  void run(uint64_t step, const Rows& rows);

  const NoiseDraw& noise() const { return noise_; }
  CandidateTerms terms(uint64_t row) const;
  std::span<const float> d_states() const;

  // The classes used and their gradients, on the device.
  size_t used() const { return used_.size(); }
  const uint32_t* used_there() const { return step_.used; }
  const float* d_used() const { return step_.d_used; }
  const float* d_used_bias() const { return step_.d_used_bias; }

 private:
  static constexpr size_t kTerms = 4;  // of a row: selfnorm_sampled_step

  size_t most_used() const;
  size_t most_words() const;
  selfnorm_sampled_step planned(size_t rows) const;
  void send(const Rows& rows);

  const GpuDevice& device_;
  const ObjectiveEntry& entry_;
  Layer layer_;
  Options options_;
  NoiseDraw noise_;
  bool in_batch_;
  size_t draws_, all_draws_;  // of a row; of the whole minibatch
  Occurrences used_;
  GpuMemory carrier_, words_there_, states_, found_, gradient_;  // found: terms, then derivatives of states
  selfnorm_sampled_step step_ = {};
  uint64_t workspace_size_;
  GpuMemory workspace_;

  // Of the last minibatch.
  std::vector<uint32_t> list_, words_;
  std::vector<float> host_found_;
};

}  // namespace selfnorm
