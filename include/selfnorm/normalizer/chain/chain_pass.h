// Sentences through a chain model as the ExactPass of every likelihood objective: example = sentence, s =
// s(x,y) of its labels, A(x) by the forward recursion, and with (ds, dA) of a visitor the gradient
//     d/d theta = ds (counts of features in (x,y)) + dA (expected counts under p(.|x)).
// Parallel over granules of sentences; the gradient is summed in an order that does not depend on the
// threads.
#pragma once

#include <memory>

#include "selfnorm/data/sequence/sequences.h"
#include "selfnorm/model/chain/chain_model.h"
#include "selfnorm/normalizer/chain/lattice.h"
#include "selfnorm/normalizer/exact_pass.h"

namespace selfnorm {

// u and v of one sentence, in room that is kept. theta is shape.size() long.
class ChainScorer {
 public:
  ChainScorer(const ChainShape& shape, std::span<const float> theta);  // keeps the view
  ChainScores operator()(const Sequences& data, uint64_t sentence);

 private:
  ChainShape shape_;
  std::span<const float> theta_;
  std::vector<float> unary_, pair_;
};

// Keeps references. Every position has a label.
template <class Real>
std::unique_ptr<ExactPass<Real>> make_chain_pass(const Sequences& data, const ChainShape& shape);

}  // namespace selfnorm
