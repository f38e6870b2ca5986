// The scoring calls of selfnorm.h, for any form of x. Arguments are checked here, so that Scorer sees only
// good ones. With an encoder, x is the state.
#pragma once

#include "open_model.h"

#define SELFNORM_TRY(call) \
  if (const selfnorm_status status = (call); status != SELFNORM_OK) return status

namespace selfnorm::runtime {

struct ClassList {
  const uint32_t* classes;
  size_t n;
};

struct TopOutput {
  size_t n;
  uint32_t* classes;
  double* log_probs;
};

selfnorm_status check_amortised(const selfnorm_model* model);  // that it has b
selfnorm_status check_kind(const selfnorm_model* model, int kind);
selfnorm_status check_class(const selfnorm_model* model, uint32_t k);

selfnorm_status score(const selfnorm_model* model, const Query& x, ClassList list, int kind, double* out);
selfnorm_status log_sum(const selfnorm_model* model, const Query& x, double* out);
selfnorm_status amortised_normalizer(const selfnorm_model* model, const Query& x, double* out);
selfnorm_status top(const selfnorm_model* model, const Query& x, int kind, TopOutput out);
selfnorm_status score_alternative(const selfnorm_model* model, const Query& x, double* out);
selfnorm_status error_bound(const selfnorm_model* model, const Query& x, uint32_t k, double* out);

// h of the features x of a bag model.
selfnorm_status encode(const selfnorm_model* model, const Query& x, float* h);

}  // namespace selfnorm::runtime
