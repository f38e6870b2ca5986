// Small random data sets for tests.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/example_source.h"
#include "math/random.h"

namespace selfnorm {

// begin .. end - 1
inline std::vector<uint64_t> numbers(uint64_t begin, uint64_t end) {
  std::vector<uint64_t> out(end - begin);
  std::iota(out.begin(), out.end(), begin);
  return out;
}

struct RandomShape {
  uint64_t rows = 20;
  uint32_t features = 5;
  uint32_t classes = 4;
  bool sparse = false;
  double density = 0.5;
};

// Standard normal features (dense) or entries present with probability `density`; uniformly random targets.
inline Dataset random_dataset(const RandomShape& shape, uint64_t seed) {
  RandomStream random(seed);
  Dataset data;
  data.features.is_sparse = shape.sparse;
  for (uint32_t k = 0; k < shape.classes; ++k) data.labels.push_back("c" + std::to_string(k));
  data.features.dense.columns = shape.sparse ? 0 : shape.features;
  data.features.dense.rows = shape.sparse ? 0 : shape.rows;
  data.features.sparse.columns = shape.features;
  for (uint64_t i = 0; i < shape.rows; ++i) {
    for (uint32_t j = 0; j < shape.features; ++j) {
      const float value = static_cast<float>(random.normal());
      if (!shape.sparse) data.features.dense.values.push_back(value);
      if (shape.sparse && random.uniform() < shape.density) {
        data.features.sparse.column.push_back(j);
        data.features.sparse.value.push_back(value);
      }
    }
    if (shape.sparse) data.features.sparse.begin.push_back(data.features.sparse.column.size());
    data.target.push_back(static_cast<uint32_t>(random.below(shape.classes)));
  }
  return data;
}

// Groups of 1 .. 5 alternatives with dense normal features.
inline Dataset random_groups(uint64_t groups, uint32_t features, uint64_t seed) {
  RandomStream random(seed);
  Dataset data;
  data.features.is_sparse = false;
  data.features.dense.columns = features;
  data.group_begin = {0};
  for (uint64_t g = 0; g < groups; ++g) {
    const uint64_t size = 1 + random.below(5);
    for (uint64_t i = 0; i < size * features; ++i) {
      data.features.dense.values.push_back(static_cast<float>(random.normal()));
    }
    data.features.dense.rows += size;
    data.group_begin.push_back(data.features.dense.rows);
    data.target.push_back(static_cast<uint32_t>(random.below(size)));
  }
  return data;
}

template <class Real>
std::vector<Real> random_vector(size_t n, uint64_t seed, double scale = 1) {
  RandomStream random(seed);
  std::vector<Real> out(n);
  for (Real& v : out) v = static_cast<Real>(scale * random.normal());
  return out;
}

// (train, held out)
inline std::pair<Dataset, Dataset> hold_out(const Dataset& data, double fraction, uint64_t seed) {
  const auto [train, held_out] = random_split(data.examples(), fraction, seed);
  return {subset(data, train), subset(data, held_out)};
}

}  // namespace selfnorm
