#include "selfnorm/objective/score_matching.h"

namespace selfnorm {

DirectionTerms match_along_direction(double first, double second) {
  return {.loss = second + 0.5 * first * first, .d_first = first, .d_second = 1};
}

double match_denoised(std::span<const float> gradient, std::span<const float> noise, double sigma,
                      std::span<float> d) {
  double loss = 0;
  for (size_t j = 0; j < gradient.size(); ++j) {
    const double residual = sigma * gradient[j] + noise[j];
    loss += 0.5 * residual * residual;
    d[j] = static_cast<float>(sigma * residual);
  }
  return loss;
}

}  // namespace selfnorm
