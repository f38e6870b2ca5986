// The encoder in one minibatch (model/encoder.h has the formulas): states forward, derivatives back, one lazy
// step. Dropout leaves out each input of the hidden layer and of the output layer with probability p and
// divides the others by 1 - p; what is left out is 0 and sends nothing back.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/checkpoint.h"
#include "family/classifier/network/output_step.h"
#include "family/classifier/options.h"
#include "model/encoder.h"

namespace selfnorm {

class EncoderStep {
 public:
  // Keeps a reference to the encoder, whose parameters it changes.
  EncoderStep(const TrainOptions& options, Encoder& encoder);

  // Keeps a reference until update(). Randomness is that of stream `step`.
  void begin(const TokenRows& rows, uint64_t step);
  // The states of these examples; every example once, from several threads, and so below.
  void forward(Range examples);
  const Features& states() const { return state_; }
  // d_state: the derivative of the loss with respect to their states; overwritten.
  void backward(Range examples, float* d_state);
  // What those two write.
  std::vector<ExampleArray> written_forward();
  std::vector<ExampleArray> written_backward();
  void update(double rate);

  void settle();
  void state(CheckpointFields& fields);

 private:
  void drop(uint64_t example, uint64_t layer, std::span<float> values) const;

  Encoder& encoder_;
  double dropout_;
  uint64_t seed_, batch_;
  TrainedRows embedding_;
  std::vector<TrainedRows> hidden_;  // none, or the weights and the biases
  Occurrences used_;

  // Of the current step.
  const TokenRows* rows_ = nullptr;
  uint64_t step_ = 0;
  Features state_;
  std::vector<float> pooled_, d_pooled_, d_hidden_, hidden_gradient_;
  std::vector<uint32_t> example_;  // of every token
};

}  // namespace selfnorm
