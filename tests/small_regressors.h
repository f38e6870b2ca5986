// Regressors with known or random parameters.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "math/random.h"
#include "model/regressor/regressor.h"

namespace selfnorm::test {

// Columns a, b (numbers) and c (three levels, the last of `rows` missing), y and z as targets.
inline Frame small_frame(uint64_t rows) {
  Frame frame;
  frame.file = "small.csv";
  frame.rows = rows;
  RandomStream random(3);
  for (const char* name : {"a", "b", "c", "y", "z"}) {
    FrameColumn column;
    column.name = name;
    column.is_numeric = column.name != "c";
    for (uint64_t i = 0; i < rows; ++i) {
      if (column.is_numeric)
        column.number.push_back(random.normal());
      else
        column.level.push_back(i + 1 == rows ? kMissingLevel : static_cast<uint32_t>(i % 3));
    }
    if (!column.is_numeric) column.levels = {"low", "mid", "höch"};
    frame.columns.push_back(std::move(column));
  }
  for (uint64_t i = 0; i < rows; ++i) frame.line.push_back(i + 2);
  return frame;
}

struct RegressorPlan {
  uint32_t dimension = 1, components = 3;
  bool tilted = true, own_features = false, normalised = true;  // normalised: there is a b network
  size_t members = 1;
};

inline void shake(RegressorNetworks& networks, uint64_t seed, double scale) {
  RandomStream random(seed);
  for (const std::span<float> theta : networks.parameters())
    for (float& v : theta) v += static_cast<float>(scale * random.normal());
  networks.parameters_changed();
}

// Random networks on the columns a, b, c of small_frame.
inline Regressor random_regressor(const RegressorPlan& plan, uint64_t seed = 5) {
  Regressor model;
  const Frame frame = small_frame(30);
  std::vector<uint64_t> rows(frame.rows);
  for (uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::vector<std::string> notes;
  model.encoder = FrameEncoder(frame, rows, {"y", "z"}, true, notes);
  for (uint32_t j = 0; j < plan.dimension; ++j) {
    model.targets.push_back(j == 0 ? "y" : "z" + std::to_string(j));
    model.target_mean.push_back(0.1 + j);
    model.target_scale.push_back(1.0 / 3 + j);
  }
  model.mixture.dimension = plan.dimension;
  model.mixture.components = plan.components;
  model.objective_json = R"({"name":"snl"})";
  model.training_json = R"({"epochs":3})";
  for (size_t m = 0; m < plan.members; ++m) {
    RegressorNetworks networks;
    const DenseShape shape{
        .inputs = model.encoder.numeric_inputs(), .levels = model.encoder.levels(), .widths = {6, 4}};
    networks.features = make_dense_features(shape, seed + m);
    networks.mixture_head = std::make_unique<DenseNetwork>(
        DenseShape{.inputs = 4, .levels = {}, .widths = {model.mixture.parameters()}}, seed + m + 10);
    if (plan.tilted) {
      if (plan.own_features) networks.tilt_features = make_dense_features(shape, seed + m + 20);
      networks.context =
          std::make_unique<DenseNetwork>(DenseShape{.inputs = 4, .levels = {}, .widths = {5}}, seed + m + 30);
      networks.tilt = make_conditional_mlp(plan.dimension, {.widths = {5, 3}}, seed + m + 40, false);
      if (plan.normalised)
        networks.normalizer = std::make_unique<DenseNetwork>(
            DenseShape{.inputs = 4, .levels = {}, .widths = {3, 1}}, seed + m + 50);
    }
    shake(networks, seed + m, 0.2);
    model.members.push_back(std::move(networks));
  }
  return model;
}

// y_j|x ~ N(slope x + j, sd_j) in standardised units, x one number, for every j < d: the mixture alone.
struct LinearGaussian {
  double slope = 2, sd = 0.5;
};

inline RegressorNetworks linear_gaussian_networks(uint32_t dimension, const LinearGaussian& line) {
  RegressorNetworks networks;
  networks.features = make_dense_features({.inputs = 1, .levels = {}, .widths = {}}, 1);
  networks.mixture_head =
      std::make_unique<DenseNetwork>(DenseShape{.inputs = 1, .levels = {}, .widths = {1 + 2 * dimension}}, 1);
  // W: logit, means, raw scales; then their biases.
  const std::span<float> theta = networks.mixture_head->parameters();
  std::fill(theta.begin(), theta.end(), 0.0f);
  const size_t outputs = 1 + 2 * dimension;
  for (uint32_t j = 0; j < dimension; ++j) {
    theta[1 + j] = static_cast<float>(line.slope);
    theta[outputs + 1 + j] = static_cast<float>(j);
    theta[outputs + 1 + dimension + j] = static_cast<float>(std::log(std::expm1(line.sd - 1e-3)));
  }
  networks.parameters_changed();
  return networks;
}

// target_mean 10, target_scale 4 in every coordinate, no broad component.
inline Regressor linear_gaussian(uint32_t dimension = 1, const LinearGaussian& line = {}) {
  Regressor model;
  model.mixture.dimension = dimension;
  model.tail_weight = 0;
  model.targets.assign(dimension, "y");
  model.target_mean.assign(dimension, 10);
  model.target_scale.assign(dimension, 4);
  model.members.push_back(linear_gaussian_networks(dimension, line));
  return model;
}

}  // namespace selfnorm::test
