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

double ScoreMatcher::operator()(const Points& batch, RandomStream random, MatchedScore& score) {
  if (kind_ == ScoreMatching::denoising) return denoised(batch, random, score);
  const uint64_t directions = kind_ == ScoreMatching::exact ? batch.columns : slices_;
  const double share = kind_ == ScoreMatching::exact ? 1 : 1 / static_cast<double>(directions);
  double loss = 0;
  for (uint64_t i = 0; i < directions; ++i) {
    direction_.assign(batch.size(), 0);
    if (kind_ == ScoreMatching::exact)
      for (uint64_t row = 0; row < batch.rows; ++row) direction_[row * batch.columns + i] = 1;
    else
      for (float& v : direction_) v = static_cast<float>(random.normal());
    loss += share * along(batch, share, score);
  }
  return loss;
}

double ScoreMatcher::along(const Points& batch, double share, MatchedScore& score) {
  const Points v{direction_.data(), batch.rows, batch.columns};
  first_.resize(batch.rows);
  second_.resize(batch.rows);
  score.directional(batch, v, first_, second_);
  const double weight = share / static_cast<double>(batch.rows);
  double loss = 0;
  for (uint64_t i = 0; i < batch.rows; ++i) {
    const DirectionTerms terms = match_along_direction(first_[i], second_[i]);
    loss += terms.loss;
    first_[i] = weight * terms.d_first;
    second_[i] = weight * terms.d_second;
  }
  score.backward(batch, v, first_, second_);
  return loss / static_cast<double>(batch.rows);
}

// d loss / d theta = sum_j d_j d(ds/dx_j)/d theta: one directional derivative along d.
double ScoreMatcher::denoised(const Points& batch, RandomStream& random, MatchedScore& score) {
  const uint64_t n = batch.rows, d = batch.columns;
  noise_drawn_.resize(batch.size());
  noisy_.resize(batch.size());
  for (uint64_t i = 0; i < batch.size(); ++i) {
    noise_drawn_[i] = static_cast<float>(random.normal());
    noisy_[i] = static_cast<float>(batch.data[i] + noise_ * noise_drawn_[i]);
  }
  const Points x{noisy_.data(), n, batch.columns};
  slope_.resize(batch.size());
  direction_.resize(batch.size());
  score.slope(x, slope_);
  double loss = 0;
  for (uint64_t i = 0; i < n; ++i)
    loss += match_denoised({&slope_[i * d], d}, {&noise_drawn_[i * d], d}, noise_, {&direction_[i * d], d});
  first_.assign(n, 1 / static_cast<double>(n));
  score.backward(x, {direction_.data(), n, batch.columns}, first_, {});
  return loss / static_cast<double>(n);
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
