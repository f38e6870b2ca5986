// A head whose rows come in tight clusters, as those of trained models do, and inputs for it.
#pragma once

#include "model/model_file.h"
#include "random_data.h"
#include "random_head.h"

namespace selfnorm {

// Class k is near centre k % centres.
inline ModelFile clustered_head(uint32_t classes, uint32_t features, uint32_t centres, double scatter,
                                uint64_t seed) {
  ModelFile model = random_head(classes, features, seed, 0);
  const std::vector<float> centre = random_vector<float>(size_t{centres} * features, seed + 2, 0.7);
  const std::vector<float> noise = random_vector<float>(size_t{classes} * features, seed + 3, scatter);
  for (uint32_t k = 0; k < classes; ++k)
    for (uint32_t j = 0; j < features; ++j)
      model.weight[size_t{k} * features + j] =
          centre[size_t{k % centres} * features + j] + noise[size_t{k} * features + j];
  model.bias = random_vector<float>(classes, seed + 4, 0.5);
  return model;
}

inline Features dense_inputs(uint64_t rows, uint32_t features, uint64_t seed) {
  Features out;
  out.is_sparse = false;
  out.dense = {rows, features, random_vector<float>(rows * features, seed, 1)};
  return out;
}

// The same values as stored entries.
inline Features as_sparse(const Features& x) {
  Features out;
  out.sparse.columns = x.columns();
  for (uint64_t i = 0; i < x.rows(); ++i) {
    for (uint32_t j = 0; j < x.columns(); ++j) {
      out.sparse.column.push_back(j);
      out.sparse.value.push_back(x.dense.row(i)[j]);
    }
    out.sparse.begin.push_back(out.sparse.column.size());
  }
  return out;
}

}  // namespace selfnorm
