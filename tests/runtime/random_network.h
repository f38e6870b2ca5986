// Small random models with encoders and trees, and their definition in double.
#pragma once

#include "model/huffman.h"
#include "runtime/random_model.h"

namespace selfnorm::test {

inline constexpr Family kFamilies[] = {Family::Multiclass, Family::Hierarchical};

// A weight row for each class, or for each inner node of a tree over random counts.
inline void fill_output_layer(std::mt19937& random, ModelFile& model) {
  const bool hierarchical = model.family == Family::Hierarchical;
  const size_t rows = model.classes - (hierarchical ? 1 : 0);
  model.weight = normals(random, rows * model.features, 0.3f);
  model.bias = normals(random, rows);
  model.log_normalizer = hierarchical ? 0 : 0.25;
  if (!hierarchical) return;
  std::vector<uint64_t> counts(model.classes);
  for (uint64_t& n : counts) n = 1 + random() % 100;
  model.tree = huffman_tree(counts);
}

inline Encoder random_encoder(std::mt19937& random, EncoderKind kind, uint32_t inputs, uint32_t hidden) {
  Encoder out;
  out.kind = kind;
  out.inputs = inputs;
  out.width = up_to(random, 9);
  out.positions = kind == EncoderKind::Context ? up_to(random, 4) : 1;
  out.embedding = normals(random, size_t{inputs} * out.width);
  out.hidden_weight = normals(random, size_t{hidden} * out.pooled(), 0.5f);
  out.hidden_bias = normals(random, hidden, 0.3f);
  return out;
}

// hidden = 0: no hidden layer.
inline ModelFile random_bag_model(std::mt19937& random, Family family, uint32_t classes, uint32_t hidden) {
  ModelFile out;
  out.family = family;
  out.classes = classes;
  out.encoder = random_encoder(random, EncoderKind::Bag, up_to(random, 40), hidden);
  out.features = out.encoder.states();
  fill_output_layer(random, out);
  for (uint32_t k = 0; k < classes; ++k) out.labels.push_back("class " + std::to_string(k));
  return out;
}

// Words "</s>", "<unk>", "w2", ...
inline ModelFile random_context_model(std::mt19937& random, Family family, uint32_t classes,
                                      uint32_t hidden) {
  ModelFile out;
  out.family = family;
  out.input = ModelInput::Context;
  out.classes = classes;
  out.encoder = random_encoder(random, EncoderKind::Context, classes + 1, hidden);
  out.features = out.encoder.states();
  fill_output_layer(random, out);
  for (uint32_t k = 0; k < classes; ++k)
    out.labels.push_back(k == 0 ? "</s>" : k == 1 ? "<unk>" : "w" + std::to_string(k));
  return out;
}

// h of v.
inline std::vector<double> reference_hidden(const Encoder& encoder, const std::vector<double>& v) {
  if (encoder.hidden() == 0) return v;
  std::vector<double> out(encoder.hidden());
  for (size_t i = 0; i < out.size(); ++i) {
    double unit = encoder.hidden_bias[i];
    for (size_t j = 0; j < v.size(); ++j) unit += encoder.hidden_weight[i * v.size() + j] * v[j];
    out[i] = std::max(0.0, unit);
  }
  return out;
}

// h of sum_j a_j E_j / sum_j |a_j|.
inline std::vector<double> reference_bag(const Encoder& encoder, const std::vector<uint32_t>& index,
                                         const std::vector<float>& value) {
  std::vector<double> v(encoder.width);
  double total = 0;
  for (const float a : value) total += std::fabs(a);
  for (size_t i = 0; i < index.size() && total > 0; ++i) {
    for (size_t j = 0; j < v.size(); ++j)
      v[j] += value[i] / total * encoder.embedding[size_t{index[i]} * encoder.width + j];
  }
  return reference_hidden(encoder, v);
}

// h of (E[w_1], ..., E[w_{n-1}]).
inline std::vector<double> reference_context(const Encoder& encoder, const std::vector<uint32_t>& words) {
  std::vector<double> v;
  for (const uint32_t w : words) {
    const auto row = encoder.embedding.begin() + ptrdiff_t{w} * encoder.width;
    v.insert(v.end(), row, row + encoder.width);
  }
  return reference_hidden(encoder, v);
}

// w_k . h + bias_k + log_carrier_k
inline double reference_row(const ModelFile& model, const std::vector<double>& h, uint32_t row) {
  double s = model.bias[row] + (model.log_carrier.empty() ? 0 : model.log_carrier[row]);
  for (size_t j = 0; j < h.size(); ++j) s += model.weight[size_t{row} * h.size() + j] * h[j];
  return s;
}

// The raw log-probability of class k for the state h.
inline double reference_raw(const ModelFile& model, const std::vector<double>& h, uint32_t k) {
  if (model.family == Family::Multiclass) return reference_row(model, h, k) - model.log_normalizer;
  double out = 0;
  for_each_ancestor(model.tree, k, [&](uint32_t row, uint32_t side) {
    const double s = reference_row(model, h, row);
    out -= std::log1p(std::exp(side == 1 ? -s : s));
  });
  return out;
}

// log sum_k exp(raw_k)
inline double reference_excess(const ModelFile& model, const std::vector<double>& h) {
  double sum = 0;
  for (uint32_t k = 0; k < model.classes; ++k) sum += std::exp(reference_raw(model, h, k));
  return std::log(sum);
}

}  // namespace selfnorm::test
