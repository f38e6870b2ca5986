// Bags of three of eight words with twenty classes, drawn from a log-linear model: a network whose embeddings
// are no narrower than the words are many has the linear model's maximum likelihood.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "family/classifier/network/network_trainer.h"
#include "random_data.h"

namespace selfnorm {

inline constexpr uint32_t kWords = 8, kBagClasses = 20;

inline Dataset bag_data(uint64_t rows, uint64_t seed) {
  const auto eta = random_vector<double>(kWords * kBagClasses, 1, 2);
  RandomStream random(seed);
  Dataset data;
  data.features.sparse.columns = kWords;
  for (uint32_t k = 0; k < kBagClasses; ++k) data.labels.push_back("c" + std::to_string(k));
  for (uint64_t i = 0; i < rows; ++i) {
    std::vector<uint64_t> words = random_permutation(kWords, RandomStream(seed, i));
    words.resize(3);
    std::sort(words.begin(), words.end());
    std::vector<double> p(kBagClasses);
    double z = 0;
    for (uint32_t k = 0; k < kBagClasses; ++k) {
      for (const uint64_t w : words) p[k] += eta[w * kBagClasses + k] / 3;
      z += p[k] = std::exp(p[k]);
    }
    uint32_t y = 0;
    for (double u = random.uniform() * z; y + 1 < kBagClasses && u >= p[y]; ++y) u -= p[y];
    data.target.push_back(y);
    for (const uint64_t w : words) {
      data.features.sparse.column.push_back(static_cast<uint32_t>(w));
      data.features.sparse.value.push_back(1.0f / 3);
    }
    data.features.sparse.begin.push_back(data.features.sparse.column.size());
  }
  return data;
}

inline EncoderPlan bag_plan() {
  EncoderPlan plan;
  plan.inputs = kWords;
  plan.classes = kBagClasses;
  return plan;
}

inline ExampleBatch all_examples(const ExampleFeed& feed) {
  std::vector<uint64_t> all(feed.examples());
  for (uint64_t i = 0; i < all.size(); ++i) all[i] = i;
  ExampleBatch out;
  feed.gather(all, out);
  return out;
}

inline bool is_finite(const ModelFile& model) {
  double sum = model.log_normalizer + model.normalizer.intercept;
  for (const std::vector<float>* values :
       {&model.weight, &model.bias, &model.encoder.embedding, &model.encoder.hidden_weight,
        &model.encoder.hidden_bias, &model.normalizer.slope, &model.normalizer.hidden_weight,
        &model.normalizer.hidden_bias, &model.normalizer.output}) {
    for (const float v : *values) sum += double{v};
  }
  return std::isfinite(sum);
}

}  // namespace selfnorm
