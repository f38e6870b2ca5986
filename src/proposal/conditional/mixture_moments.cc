// mean_j = sum_k pi_k mean_kj,   sd_j^2 = sum_k pi_k (sd_kj^2 + (mean_kj - mean_j)^2).
#include <cmath>
#include <limits>

#include "mixture_row.h"
#include "selfnorm/base/error.h"
#include "selfnorm/proposal/conditional/mixture.h"

namespace selfnorm {

void ConditionalMixture::moments(const Points& parameters, std::span<float> out) const {
  const size_t d = shape_.dimension, components = shape_.components;
  SELFNORM_CHECK(parameters.columns == shape_.parameters() && out.size() == parameters.rows * 2 * d);
  MixtureRow row(*this, 0);
  for (uint64_t i = 0; i < parameters.rows; ++i) {
    const std::span<const float> theta = parameters.row(i);
    const bool is_finite = row.set(theta);
    for (size_t j = 0; j < d; ++j) {
      double mean = 0, square = 0;
      for (size_t k = 0; is_finite && k < components; ++k)
        mean += row.weight(k) * static_cast<double>(theta[components + k * d + j]);
      for (size_t k = 0; is_finite && k < components; ++k) {
        const double away = static_cast<double>(theta[components + k * d + j]) - mean;
        square += row.weight(k) * (row.scale(k * d + j) * row.scale(k * d + j) + away * away);
      }
      if (!is_finite) mean = square = std::numeric_limits<double>::quiet_NaN();
      out[i * 2 * d + j] = static_cast<float>(mean);
      out[i * 2 * d + d + j] = static_cast<float>(std::sqrt(square));
    }
  }
}

}  // namespace selfnorm
