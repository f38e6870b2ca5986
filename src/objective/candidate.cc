#include "objective/candidate.h"

#include <cmath>
#include <limits>

#include "math/kernels.h"

namespace selfnorm {

ImportanceEstimate importance_weights(std::span<const double> score, std::span<const double> log_q,
                                      const KnownTarget& target, std::span<double> share) {
  const size_t k = share.size();
  for (size_t j = 0; j < k; ++j) share[j] = score[j] - log_q[j];
  for (size_t j = 0; j < target.hit.size(); ++j)
    if (target.hit[j] != 0) share[j] = -std::numeric_limits<double>::infinity();
  const LogSumExp samples = exp_in_place(share.data(), k);
  const double squares = dot(share.data(), share.data(), k);
  ImportanceEstimate out;
  out.effective = squares > 0 ? samples.sum * samples.sum / squares : squares;
  const double log_mean = samples.value() - std::log(static_cast<double>(k));
  LogSumExp total;
  total.add(log_mean);
  if (!target.hit.empty()) total.add(target.score);
  out.log_z = total.value();
  if (!target.hit.empty()) out.target_share = std::exp(target.score - out.log_z);
  scale(squares == 0 ? 0 : std::exp(log_mean - out.log_z) / samples.sum, share.data(), k);
  return out;
}

}  // namespace selfnorm
