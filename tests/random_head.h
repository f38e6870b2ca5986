// Small random models for tests.
#pragma once

#include "model/model_file.h"
#include "random_data.h"

namespace selfnorm {

// A multiclass model of dense inputs with normal weights and biases, labels "c0", "c1", ...
inline ModelFile random_head(uint32_t classes, uint32_t features, uint64_t seed, double scale = 1) {
  ModelFile model;
  model.input = ModelInput::Dense;
  model.classes = classes;
  model.features = features;
  model.weight = random_vector<float>(size_t{classes} * features, seed, scale);
  model.bias = random_vector<float>(classes, seed + 1, scale);
  for (uint32_t k = 0; k < classes; ++k) model.labels.push_back("c" + std::to_string(k));
  return model;
}

inline ModelFile joint_model(std::vector<float> weight) {
  ModelFile model;
  model.family = Family::Joint;
  model.input = ModelInput::Dense;
  model.features = static_cast<uint32_t>(weight.size());
  model.weight = std::move(weight);
  return model;
}

}  // namespace selfnorm
