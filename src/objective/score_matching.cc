#include "objective/score_matching.h"

#include "objective/registry.h"

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

ObjectiveEntry denoising_entry() {
  return {.name = "dsm",
          .text = "denoising score matching",
          .seam = ObjectiveSeam::matching,
          .offers = {{"density", {"noise"}}, {"regressor", {"noise"}}},
          .leaves_level = true,
          .matching = ScoreMatching::denoising};
}

ObjectiveEntry sliced_entry() {
  return {.name = "ssm",
          .text = "score matching along random directions",
          .seam = ObjectiveSeam::matching,
          .offers = {{"density", {"slices"}}},
          .leaves_level = true,
          .matching = ScoreMatching::sliced};
}

ObjectiveEntry matching_entry() {
  return {.name = "sm",
          .text = "score matching with the exact trace",
          .seam = ObjectiveSeam::matching,
          .offers = {{"density", {}}, {"regressor", {}}},
          .leaves_level = true,
          .matching = ScoreMatching::exact};
}

}  // namespace selfnorm
