// Labellings, log-probabilities and marginals of one sentence under the file of a CRF (crf_layout.h),
// without allocation: what is kept of the recursions is in memory of the caller. Sentences were checked:
// offsets rise, attributes are those of the model.
#pragma once

#include "selfnorm.h"
#include "selfnorm/runtime/crf_layout.h"
#include "selfnorm/runtime/kernels.h"

namespace selfnorm::runtime {

class CrfScorer {
 public:
  explicit CrfScorer(const CrfLayout& layout, const Kernels& kernels = best_kernels());

  // Bytes of memory, at any address, for the calls that take it; SIZE_MAX where that is too few.
  size_t workspace(size_t positions) const;

  // s(x,y), in double from the weights, O(T) in time; not finite when a value is not, or on overflow.
  double score(const selfnorm_sentence& x, const uint32_t* labels) const;
  // b(x) of the normalizer, which exists; not finite alike.
  double amortised_normalizer(const selfnorm_sentence& x) const;

  // A(x); NaN where some score u_t(k) or v_t(j,k) is not finite, as false is below, with nothing written.
  double log_normalizer(const selfnorm_sentence& x, void* memory) const;
  // log p(y|x) = s(x,y) - A(x), at most 0, with s and A of the same u_t and v_t: those in float that the
  // recursions use, so s differs from score() by their rounding. NaN alike.
  double exact_log_prob(const selfnorm_sentence& x, void* memory, const uint32_t* labels) const;
  // The labelling of highest score; ties: the smaller label, of the last position first.
  bool best_labels(const selfnorm_sentence& x, void* memory, uint32_t* labels) const;
  // out[t L + k] = p(y_t = k | x)
  bool marginals(const selfnorm_sentence& x, void* memory, double* out) const;

 private:
  CrfLayout layout_;
  const CrfKernels* kernels_;
};

}  // namespace selfnorm::runtime
