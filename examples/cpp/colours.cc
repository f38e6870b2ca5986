// Trains a self-normalised classifier on nine points in memory and scores one input: the raw score of a
// single class (one dot product) against its exactly normalised log-probability (all classes).
#include <selfnorm.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "family/classifier/trainer.h"

namespace {

selfnorm::Dataset points() {
  selfnorm::Dataset data;
  data.labels = {"red", "green", "blue"};
  data.target = {0, 0, 0, 1, 1, 1, 2, 2, 2};
  data.features.is_sparse = false;
  data.features.dense = {
      .rows = 9, .columns = 3, .values = {.9f, .1f, .2f, .8f, .3f, .1f, 1.f, .0f, .3f,  // red
                                          .2f, .8f, .1f, .3f, .9f, .3f, .0f, .7f, .2f,  // green
                                          .1f, .2f, .9f, .3f, .1f, .8f, .2f, .4f, 1.f}};
  return data;
}

void check(selfnorm_status status) {
  if (status != SELFNORM_OK) throw std::runtime_error(selfnorm_error_message());
}

}  // namespace

int main(int count, char** arguments) try {
  const char* path = count > 1 ? arguments[1] : "colours.safetensors";
  selfnorm::TrainOptions options;
  options.objective.name = "penalty";
  options.objective.alpha = 1.0;
  options.l2 = 1e-2;
  selfnorm::TrainObserver silent;
  const selfnorm::TrainResult result =
      selfnorm::train_classifier(points(), std::nullopt, options, {}, silent);
  selfnorm::save_model(result.model, path);

  selfnorm_model* model = nullptr;
  check(selfnorm_open(path, &model));
  const float x[3] = {.85f, .2f, .2f};
  const uint32_t red = 0;
  double raw = 0, exact = 0;
  check(selfnorm_score_dense(model, x, 3, &red, 1, SELFNORM_RAW, &raw));
  check(selfnorm_score_dense(model, x, 3, &red, 1, SELFNORM_EXACT, &exact));
  std::printf("log p(red | x): raw %.4f, exact %.4f\n", raw, exact);
  selfnorm_close(model);
  return std::abs(raw - exact) < 0.5 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "colours: %s\n", error.what());
  return 1;
}
