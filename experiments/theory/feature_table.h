// A log-linear model that can be enumerated (theory.md 0): n inputs of equal weight, K outputs, d features
// T(x,y), and a carrier,
//     s(x,y) = eta . T(x,y),      A(x) = log sum_y h(y) exp s(x,y),      log p(y|x) = log h(y) + s(x,y) -
//     A(x).
// An output with log h = -inf does not exist.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "audit/bounds/scored_examples.h"
#include "data/dataset.h"

namespace selfnorm {

struct FeatureTable {
  uint64_t inputs = 0;
  uint32_t outputs = 0;
  uint32_t features = 0;
  std::vector<double> values;       // inputs x outputs x features
  std::vector<double> log_carrier;  // one per output, or empty for h = 1

  std::span<const double> operator()(uint64_t x, uint32_t y) const {
    return {values.data() + (x * outputs + y) * features, features};
  }
  double log_h(uint32_t y) const { return log_carrier.empty() ? 0 : log_carrier[y]; }
  bool exists(uint32_t y) const;  // h(y) > 0

  // Throws Error unless there is something of each, the sizes agree, the features are finite, and log h is
  // below +inf with one output at least that exists.
  void validate() const;
};

// K blocks of x: T(x,k) = e_k (x) x, so that eta = (eta_1, ..., eta_K) gives s_k = eta_k . x.
FeatureTable multiclass_table(const DenseMatrix& x, uint32_t classes);

// s(x,y), inputs x outputs, without the carrier. Throws Error for a bad table, for eta of another size, and
// when a score is not finite.
std::vector<double> scores(const FeatureTable& table, std::span<const double> eta);
// A(x) of every input.
std::vector<double> log_normalizers(const FeatureTable& table, std::span<const double> eta);
// log p(y|x), inputs x outputs; -inf where the output does not exist.
std::vector<double> log_probabilities(const FeatureTable& table, std::span<const double> eta);

// For bounds of the gap. Keeps a reference to the table; target[x] is an output that exists.
std::unique_ptr<ScoredExamples> scored_examples(const FeatureTable& table, std::span<const double> eta,
                                                std::vector<uint32_t> target);

}  // namespace selfnorm
