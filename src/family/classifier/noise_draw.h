// The noise classes of one minibatch of B examples with targets y_1 .. y_B, and log q of each:
//     drawn, shared     k draws from the proposal that every example uses
//     drawn, own        k draws for each example
//     in-batch          example i uses the targets y_j, j != i: B - 1 draws from the distribution of the
//                       targets themselves, q(y) = n_y / n, which is what a shuffled minibatch makes them;
//                       a class that is never a target is never drawn, and its scores stay as they start
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "objective/registry.h"
#include "proposal/proposal.h"

namespace selfnorm {

class NoiseDraw {
 public:
  // `counts`: how often each class is a target of the training data.
  NoiseDraw(const ObjectiveOptions& options, uint64_t seed, std::span<const uint64_t> counts);

  // The draw of minibatch `step`. In-batch noise needs two examples: with one it has no samples, and the
  // example has nothing to learn from.
  void draw(uint64_t step, std::span<const uint32_t> targets);

  // All draws, repetitions included.
  std::span<const uint32_t> classes() const { return classes_; }
  std::span<const double> log_q() const { return log_q_; }
  // Whether every example uses the draws from the first on (in-batch: but its own).
  bool is_shared() const { return !own_; }

  // Example i uses the draws begin .. end-1 except `hole` (none when hole == end).
  struct View {
    size_t begin, end, hole;
    size_t size() const { return end - begin - (hole == end ? 0 : 1); }
  };
  View view(uint64_t example) const;
  // log q of the draws of a view, in `buffer` when there is a hole in it.
  std::span<const double> log_q_of(const View& view, std::vector<double>& buffer) const;

  // For each of them whether it is `target`.
  std::span<const uint8_t> hits_of(const View& view, uint32_t target, std::vector<uint8_t>& buffer) const;

  // log q of a class as a target.
  double log_prob(uint32_t k) const;
  // The probability that a minibatch of B examples uses class k, as noise or as a target.
  double use_probability(uint32_t k, uint64_t batch) const;

 private:
  bool in_batch_, own_;
  uint64_t samples_, seed_;
  SeenCounts count_;
  double total_ = 0;
  std::unique_ptr<Proposal> proposal_;  // null: in-batch
  std::vector<uint32_t> classes_;
  std::vector<double> log_q_;
};

}  // namespace selfnorm
