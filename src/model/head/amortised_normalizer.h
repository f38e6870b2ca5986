// A cheap approximation of the log-normalizer, stored in the model and subtracted from raw scores ("amortised
// normalizer", theory.md 3):
//     linear  b(x) = v . x + a                                  O(d)
//     mlp     b(x) = u . max(0, V x + t) + v . x + a            O(d (m + 1))
// and the amortised log-probability of class k is  raw_k - b(x),  b(x) ~ A(x) - c.
#pragma once

#include <cstdint>
#include <vector>

namespace selfnorm {

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

}  // namespace selfnorm
