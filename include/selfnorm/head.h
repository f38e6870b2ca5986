// Anybody's softmax head: scores W h + bias of K classes for states h. Adding one vector to all rows of W and
// one number to all biases changes no probability, so log Z(h) can be brought near 0 without loss; what then
// remains of it is measured on states that were held out, and certified.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/audit.h"
#include "selfnorm/rows.h"

namespace selfnorm {

enum class HeadType { float32, float16, bfloat16 };

struct HeadOptions {
  double within = 0.1;                   // wanted: |error of a log-probability| <= within ...
  double rho = 0.01, confidence = 0.99;  // ... for all but a share rho of states, with this confidence
  double hold_out = 0.1;  // of the states: they measure and certify, and are fitted to by nobody
  uint32_t hidden = 64;   // of the network that b(h) is where the constant will not do; 0: none is tried
  uint64_t seed = 0;
  // What the new weights and biases are rounded to, before they are measured and certified.
  HeadType weight_type = HeadType::float32, bias_type = HeadType::float32;
};

// b(h) = intercept + slope . h + output . max(0, hidden_weight h + hidden_bias), less which a raw score is a
// log-probability. Without a network slope is all 0.
struct HeadNormalizer {
  double intercept = 0;
  std::vector<float> slope, hidden_weight, hidden_bias, output;
};

struct NormalizedHead {
  std::vector<float> weight, bias;  // K x d and K: the same probabilities
  std::vector<double> slope;        // d: what every row of W was moved by, W' = W - slope ...
  double intercept = 0;             // ... and bias' = bias - intercept
  // The cheapest way to log p(k|h) that is certified within `within`: "constant", s_k itself; "network",
  // s_k - b(h); "exact", s_k - log Z(h), which sums over all classes.
  std::string rung;
  HeadNormalizer normalizer;           // of "network"
  AuditReport before, after;           // of s_k, as it was and as it is, on the states held out
  std::optional<AuditReport> network;  // of s_k - b(h), where it was tried
};

// weight: K x d; bias: K values, or none; states: n x d. Throws Error for what does not fit together, fewer
// than 2 states and options out of range.
NormalizedHead normalize_head(const Rows& weight, std::span<const float> bias, const Rows& states,
                              const HeadOptions& options = {});

// log Z(h) = log sum_k exp(w_k . h + bias_k) of every state, without the n x K scores in memory.
std::vector<double> head_log_normalizers(const Rows& weight, std::span<const float> bias, const Rows& states);

}  // namespace selfnorm
