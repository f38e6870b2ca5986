// A normal density in the units of its data, and points of it.
#pragma once

#include <memory>
#include <vector>

#include "data/points/point_source.h"
#include "math/random.h"
#include "small_models.h"

namespace selfnorm {

// x_j ~ N(10 j, 2^2): standardised by mean 10 j and scale 2. b is off by `off`.
inline DensityModel shown_normal(uint32_t d, double off = 0) {
  DensityModel model = small_model(quadratic(std::vector<double>(d, 0), std::vector<double>(d, 1)),
                                   std::make_shared<SmallNormal>(d, 0, 1.2), d * log_normal_volume(1) + off);
  for (uint32_t j = 0; j < d; ++j) {
    model.standardisation.mean.push_back(10.0 * j);
    model.standardisation.scale.push_back(2);
  }
  return model;
}

inline std::unique_ptr<PointSource> normal_points(uint32_t d, uint64_t rows) {
  RandomStream random(7);
  std::vector<float> values;
  for (uint64_t i = 0; i < rows; ++i)
    for (uint32_t j = 0; j < d; ++j) values.push_back(static_cast<float>(10.0 * j + 2 * random.normal()));
  return make_point_source(d, std::move(values));
}

// Of bits of `d` columns, all patterns alike.
inline std::unique_ptr<PointSource> fair_bits(uint32_t d, uint64_t rows) {
  RandomStream random(8);
  std::vector<float> values;
  for (uint64_t i = 0; i < rows * d; ++i) values.push_back(static_cast<float>(random.below(2)));
  return make_point_source(d, std::move(values));
}

}  // namespace selfnorm
