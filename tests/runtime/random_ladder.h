// A random ladder on a random model, as an oracle for the runtime.
#pragma once

#include "math/half.h"
#include "runtime/random_model.h"

namespace selfnorm::test {

// Classes in clusters at random, with random masses: what is said of rungs has to hold for any.
inline Ladder random_ladder(std::mt19937& random, const ModelFile& model, uint32_t clusters) {
  Ladder out;
  std::vector<uint32_t> cluster_of(model.classes);
  for (uint32_t k = 0; k < model.classes; ++k) cluster_of[k] = k < clusters ? k : up_to(random, clusters) - 1;
  ClassClusters& c = out.clusters;
  c.begin.push_back(0);
  for (uint32_t j = 0; j < clusters; ++j) {
    for (uint32_t k = 0; k < model.classes; ++k)
      if (cluster_of[k] == j) c.order.push_back(k);
    c.begin.push_back(static_cast<uint32_t>(c.order.size()));
  }
  for (const uint32_t k : c.order)
    c.bias.push_back(model.bias[k] + (model.log_carrier.empty() ? 0 : model.log_carrier[k]));
  if (random() % 2 == 0)
    for (const uint32_t k : c.order)
      for (uint32_t j = 0; j < model.features; ++j)
        c.rows.push_back(to_bfloat16(model.weight[size_t{k} * model.features + j]));
  c.centroid = normals(random, size_t{model.features + 1} * clusters, 0.2f);
  c.norm = {static_cast<float>(model.features)};
  c.mass = normals(random, clusters);
  for (const float v : normals(random, clusters)) c.scatter.push_back(std::abs(v));
  const auto add = [&](std::string name, RungKind kind, double cost, double eps) {
    LadderRung rung;
    rung.name = std::move(name);
    rung.kind = kind;
    rung.cost = cost;
    rung.rms = eps / 3;
    rung.eps = eps;
    rung.rho = 0.01;
    rung.conf = 0.99;
    out.rungs.push_back(std::move(rung));
    return &out.rungs.back();
  };
  add("raw", RungKind::Raw, 0, 0.9);
  add("linear", RungKind::Linear, 1, 0.5)->b = random_normalizer(random, model.features, 0);
  add("network-7", RungKind::Network, 8, 0.3)->b = random_normalizer(random, model.features, 7);
  for (const double stop : {0.0, 0.1, 1e9}) {
    LadderRung* rung = add("nearest-" + std::to_string(out.rungs.size()), RungKind::Nearest, 100 - stop / 1e8,
                           stop == 0.1 ? 0.08
                           : stop == 0 ? 0.01
                                       : 0.4);
    rung->stop = stop;
    rung->b.intercept = 0.05;
    rung->b.hidden_weight = normals(random, 5 * size_t{model.features}, 0.2f);
    rung->b.hidden_bias = normals(random, 5);
    rung->b.output = normals(random, 5, 0.1f);
    rung->extra = normals(random, 20, 0.1f);
  }
  return out;
}

}  // namespace selfnorm::test
