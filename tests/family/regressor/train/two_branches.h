// Data with a known density, and options that learn it in a moment.
#pragma once

#include <cmath>

#include "family/regressor/train/regressor_trainer.h"
#include "math/random.h"

namespace selfnorm {

// y is x + one of two places, which a single Gaussian cannot say.
inline constexpr double kRegressorShare = 0.3, kFirstMode = -0.6, kSecondMode = 0.6, kModeWidth = 0.2;

inline double truth(double x, double y) {
  const auto normal = [&](double mean) {
    const double z = (y - x - mean) / kModeWidth;
    return std::exp(-0.5 * z * z) / (kModeWidth * std::sqrt(2 * M_PI));
  };
  return kRegressorShare * normal(kFirstMode) + (1 - kRegressorShare) * normal(kSecondMode);
}

inline Frame two_branches(uint64_t rows, uint64_t seed = 1) {
  RandomStream random(seed);
  Frame frame;
  frame.file = "two_branches";
  frame.rows = rows;
  frame.columns.resize(2);
  frame.columns[0].name = "x";
  frame.columns[1].name = "y";
  for (uint64_t i = 0; i < rows; ++i) {
    const double x = 2 * random.uniform() - 1;
    frame.columns[0].number.push_back(x);
    frame.columns[1].number.push_back(x + (random.uniform() < kRegressorShare ? kFirstMode : kSecondMode) +
                                      kModeWidth * random.normal());
    frame.line.push_back(i + 2);
  }
  return frame;
}

inline RegressorOptions quick_regressor(const std::string& objective) {
  RegressorOptions o;
  o.objective = objective;
  o.features = {16};
  o.joint = {32, 32};
  o.normalizer = {16};
  o.components = 1;
  o.epochs = 60;
  o.batch = 64;
  o.samples = 24;
  o.warm_up = 0.1;
  o.learning_rate = 1e-2;
  o.weight_decay = 0;
  o.checks = 5;
  o.noise = 0.05;
  o.input_noise = 0.02;
  o.ensemble = 1;
  o.langevin_steps = 30;
  o.langevin_step = 0.15;
  return o;
}

}  // namespace selfnorm
