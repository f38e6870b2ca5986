// Sentences through a CRF model as the ExactPass of every likelihood objective: example = sentence, s =
// s(x,y) of its labels, A(x) by the forward recursion, and with (ds, dA) of a visitor the gradient
//     d/d theta = ds (counts of features in (x,y)) + dA (expected counts under p(.|x)).
// Sentences are taken in blocks whose derivatives d_t(k) = ds [k = y_t] + dA p(y_t = k) fit a budget of
// memory: granules of a block in parallel, then attributes in parallel (attribute_uses.h). Expected pairs are
// summed in a fixed number of chunks. So the bits do not depend on the threads.
#pragma once

#include <memory>

#include "normalizer/crf/crf_scorer.h"
#include "normalizer/crf/lattice.h"
#include "normalizer/exact_pass.h"

namespace selfnorm {

// Keeps references to data; every position has a label. OutputSummary of a sentence: outputs = L^T, at most
// UINT64_MAX; better is counted to kBetter at most.
inline constexpr uint64_t kBetter = 5;
template <class Real>
std::unique_ptr<ExactPass<Real>> make_crf_pass(const Sequences& data, const CrfShape& shape);

}  // namespace selfnorm
