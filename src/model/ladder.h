// Approximations of the log-normalizer that a model stores: b(x), and the ladder
// (selfnorm/runtime/ladder_layout.h, which has the formulas and the tensors).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/runtime/model_layout.h"

namespace selfnorm {

using runtime::Rung;
using runtime::RungKind;

// A cheap approximation of the log-normalizer, stored in the model and subtracted from raw scores ("amortised
// normalizer", theory.md 3):
//     linear  b(x) = v . x + a                                  O(d)
//     mlp     b(x) = u . max(0, V x + t) + v . x + a            O(d (m + 1))
// and the amortised log-probability of class k is  raw_k - b(x),  b(x) ~ A(x) - c.
struct AmortisedNormalizer {
  double intercept = 0;              // a
  std::vector<float> slope;          // v, d values; empty: there is no b
  std::vector<float> hidden_weight;  // V, m x d; empty for linear
  std::vector<float> hidden_bias;    // t, m
  std::vector<float> output;         // u, m

  bool exists() const { return !slope.empty(); }
  uint32_t hidden() const { return static_cast<uint32_t>(output.size()); }

  bool operator==(const AmortisedNormalizer&) const = default;
};

// Classes in clusters, for rungs of kind nearest.
struct ClassClusters {
  std::vector<float> centroid;         // (d + 1) x C
  std::vector<float> mass, scatter;    // C
  std::vector<float> norm;             // 1
  std::vector<uint32_t> begin, order;  // C + 1, K
  std::vector<float> bias;             // K: bias + log carrier, in the order of `order`
  std::vector<uint16_t> rows = {};     // K x d: the weights as bfloat16, in that order; or empty

  size_t clusters() const { return mass.size(); }
  bool operator==(const ClassClusters&) const = default;
};

struct LadderRung : Rung {
  AmortisedNormalizer b =
      {};  // of kinds linear and network (but "amortised"); nearest: the tail, without a slope
  std::vector<float> extra = {};  // nearest: m x 4

  bool operator==(const LadderRung&) const = default;
};

struct Ladder {
  std::vector<LadderRung> rungs;
  ClassClusters clusters = {};
  runtime::Promise promise = {};

  bool exists() const { return !rungs.empty(); }
  bool operator==(const Ladder&) const = default;
};

// {"rungs": [...]}, and the promise where it is not the usual one; parse_rungs reads it back.
std::string rungs_json(const std::vector<Rung>& rungs, const runtime::Promise& promise = {});
std::string ladder_json(const Ladder& ladder);
// Its tensors, which point into it.
std::vector<runtime::Tensor> ladder_tensors(const Ladder& ladder, uint32_t features);
// As the runtime sees it, in place; `normalizer` is b of the model itself.
runtime::LadderLayout layout_of(const Ladder& ladder, const runtime::NormalizerLayout& normalizer);
runtime::NormalizerLayout layout_of(const AmortisedNormalizer& b);
// A copy of what a file holds.
Ladder ladder_of(const runtime::LadderLayout& layout);
AmortisedNormalizer normalizer_of(const runtime::NormalizerLayout& layout);

// The same as bytes, for files whose tensors are not ours: a safetensors file in one array.
std::string ladder_bytes(const Ladder& ladder, uint32_t features);
struct ModelFile;
// Back from them, for the classes, features and b(x) of `model`. `place` names them in errors (Error).
Ladder parse_ladder(std::span<const std::byte> bytes, const std::string& place, const ModelFile& model);

// A model as the runtime scores it, in place: weights as float32. The model has to outlive it.
runtime::ModelLayout layout_of(const ModelFile& model);

}  // namespace selfnorm
