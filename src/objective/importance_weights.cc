#include "selfnorm/objective/importance_weights.h"

#include <cmath>

#include "selfnorm/math/kernels.h"

namespace selfnorm {

ImportanceEstimate importance_weights(std::span<const double> score, std::span<const double> log_q,
                                      std::span<double> share) {
  const size_t k = share.size();
  for (size_t j = 0; j < k; ++j) share[j] = score[j] - log_q[j];
  const LogSumExp total = exp_in_place(share.data(), k);
  scale(1 / total.sum, share.data(), k);
  return {.log_z = total.value() - std::log(static_cast<double>(k)),
          .effective = 1 / dot(share.data(), share.data(), k)};
}

}  // namespace selfnorm
