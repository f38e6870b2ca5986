// The runtime's raw scores are the trainer's: to float rounding, and to the stated quantisation error.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/multiclass.h"
#include "runtime/random_model.h"

namespace selfnorm::test {
namespace {

// theta is (d+1) x K with the biases last; the file is K x d.
std::vector<float> parameters_of(const ModelFile& model) {
  const size_t d = model.features, classes = model.classes;
  std::vector<float> theta((d + 1) * classes);
  for (size_t k = 0; k < classes; ++k) {
    for (size_t j = 0; j < d; ++j) theta[j * classes + k] = model.weight[k * d + j];
    theta[d * classes + k] = model.bias[k];
  }
  return theta;
}

RC_GTEST_PROP(Runtime, ScoresAreTheTrainers, (uint32_t seed)) {
  std::mt19937 random(seed);
  const ModelFile model = random_model(random, up_to(random, 40), up_to(random, 60), kKinds[seed % 3]);
  const OpenModel open(model);
  const auto theta = parameters_of(model);
  Features features;
  features.is_sparse = false;
  features.dense = {1, model.features, normals(random, model.features)};
  const Multiclass<float> trainer(features, model.classes, model.features, model.log_carrier);
  std::vector<float> trained(model.classes);
  trainer.scores(theta, {0, 1}, {0, model.classes}, trained.data());
  const auto x = features.dense.row(0);
  for (uint32_t k = 0; k < model.classes; ++k) {
    double raw = 0, bound = 0;
    RC_ASSERT(selfnorm_score_dense(open, x.data(), x.size(), &k, 1, SELFNORM_RAW, &raw) == SELFNORM_OK);
    RC_ASSERT(selfnorm_score_error_bound_dense(open, x.data(), x.size(), k, &bound) == SELFNORM_OK);
    const double rounding =
        1e-5 * (1 + std::fabs(raw));  // of the trainer, which also adds the bias in float32
    RC_ASSERT(std::fabs(trained[k] - model.log_normalizer - raw) <= bound + rounding);
  }
}

}  // namespace
}  // namespace selfnorm::test
