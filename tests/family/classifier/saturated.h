// A problem whose maximum likelihood is known.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace selfnorm {

// One-hot inputs: the model is saturated, so its optimum is the table of conditional frequencies.
struct Saturated {
  static constexpr uint32_t kInputs = 3, kClasses = 4;
  Dataset data;
  std::vector<std::vector<double>> frequency{kInputs, std::vector<double>(kClasses)};

  // The least NLL there is.
  double entropy() const {
    double sum = 0;
    for (const auto& row : frequency) {
      for (const double p : row) sum -= p * std::log(p) / kInputs;
    }
    return sum;
  }

  Saturated() {
    const std::vector<std::vector<int>> count = {{50, 30, 15, 5}, {10, 10, 70, 10}, {25, 25, 25, 25}};
    data.labels = {"a", "b", "c", "d"};
    data.features.sparse.columns = kInputs;
    for (uint32_t x = 0; x < kInputs; ++x) {
      for (uint32_t y = 0; y < kClasses; ++y) {
        frequency[x][y] = count[x][y] / 100.0;
        for (int i = 0; i < count[x][y]; ++i) {
          data.features.sparse.column.push_back(x);
          data.features.sparse.value.push_back(1);
          data.features.sparse.begin.push_back(data.features.sparse.column.size());
          data.target.push_back(y);
        }
      }
    }
  }
};

}  // namespace selfnorm
