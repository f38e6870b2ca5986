// Anybody's softmax head: scores W h + bias of K classes for states h. Adding one vector to all rows of W and
// one number to all biases changes no probability, so log Z(h) can be brought near 0 without loss. What then
// remains of it is left to a ladder of approximations between one dot product and K of them, from which the
// cheapest is taken that is certified to be good enough, on states that were held out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "selfnorm/audit.h"
#include "selfnorm/rows.h"

namespace selfnorm {

enum class HeadType { float32, float16, bfloat16 };

struct HeadOptions {
  double within = 0.1;                   // wanted: |error of a log-probability| <= within ...
  double rho = 0.01, confidence = 0.99;  // ... for all but a share rho of states, with this confidence
  double max_cost = 0;    // > 0: instead of `within`, the most precise rung of so many dot products
  bool keep_all = false;  // every rung that is cheaper than exact, not only the one that is chosen
  double hold_out = 0.5;  // of the states: they measure and certify, and are fitted to by nobody
  uint32_t clusters = 0;  // of classes, for rungs of kind nearest; 0: by their number
  uint64_t seed = 0;
  // What the new weights and biases are rounded to, before they are measured and certified.
  HeadType weight_type = HeadType::float32, bias_type = HeadType::float32;
};

// One way to log Z(h), measured on the states held out.
struct HeadRung {
  std::string name, kind;  // kind: raw | linear | network | nearest | exact
  double cost = 0;         // dot products of the length of h, the mean over states; exact: K
  double rms = 0;          // of its error
  double q99 = 0;          // 99% of the states are within this
  // All but a share rho of states are within this, with the confidence, for all rungs together; none: there
  // are too few states to say so.
  std::optional<double> eps;
  double nanoseconds = 0;  // of one state on one thread
};

// b(h) = intercept + slope . h + output . max(0, hidden_weight h + hidden_bias), less which a raw score is a
// log-probability. Without a network only slope is there.
struct HeadNormalizer {
  double intercept = 0;
  std::vector<float> slope, hidden_weight, hidden_bias, output;
};

struct NormalizedHead {
  std::vector<float> weight, bias;  // K x d and K: the same probabilities; empty when a file was written
  std::vector<double> slope;        // d: what every row of W was moved by, W' = W - slope ...
  double intercept = 0;             // ... and bias' = bias - intercept
  AuditReport before, after;        // of s_k, as it was and as it is, on the states held out
  double probability = 0;  // the largest change of a probability, on the states held out (at most 1,000)

  std::vector<HeadRung> rungs;         // by cost; the last one is exact
  size_t chosen = 0;                   // of them
  std::string reason;                  // why that one, in words
  uint64_t fitted = 0, certified = 0;  // states
  HeadNormalizer normalizer;           // of the chosen rung where its kind is linear or network
  std::string ladder;                  // the rungs that are kept: the bytes of a HeadLadder

  const HeadRung& rung() const { return rungs[chosen]; }
};

// weight: K x d; bias: K values, or none; states: n x d. Throws Error for what does not fit together, fewer
// than 2 states and options out of range.
NormalizedHead normalize_head(const Rows& weight, std::span<const float> bias, const Rows& states,
                              const HeadOptions& options = {});

// The same of files: a head in npz or safetensors, states in npy, npz or safetensors; `out` is written with
// all that the head's file holds, in its own number types, and the ladder.
struct HeadFiles {
  std::string head, states, out;
  std::string weight_name, bias_name, states_name;  // of arrays; empty: as they are usually called
};
NormalizedHead normalize_head(const HeadFiles& files, const HeadOptions& options = {});

// log Z(h) = log sum_k exp(w_k . h + bias_k) of every state, without the n x K scores in memory.
std::vector<double> head_log_normalizers(const Rows& weight, std::span<const float> bias, const Rows& states);

// The rungs that a normalised head keeps, for that head: raw, the chosen one, or all.
class HeadLadder {
 public:
  // As NormalizedHead::ladder and the array selfnorm.ladder of a head's file have it. Throws Error.
  HeadLadder(std::string_view bytes, uint32_t classes, uint32_t features);
  ~HeadLadder();
  HeadLadder(HeadLadder&&) noexcept;
  HeadLadder& operator=(HeadLadder&&) noexcept;

  std::vector<std::string> rungs() const;  // names; exact is always there and not among them
  // What the rung takes for log Z(h), without the weights: NaN for states for which it has no number.
  std::vector<double> estimates(const Rows& states, const std::string& rung) const;
  // The same, where "exact" and states for which the rung has no number are summed.
  std::vector<double> log_normalizers(const Rows& weight, std::span<const float> bias, const Rows& states,
                                      const std::string& rung) const;

 private:
  struct Content;
  std::unique_ptr<const Content> content_;
};

// b(h) for a log Z that was computed elsewhere: that of scores which are capped by tanh, say, where no vector
// can be added to the weights without changing probabilities.
struct NormalizerFitOptions {
  uint32_t hidden = 64;   // units of the network; 0: linear
  double hold_out = 0.5;  // of the states: they measure and certify, and are fitted to by nobody
  double rho = 0.01, confidence = 0.99;
  uint64_t seed = 0;
};

struct FittedNormalizer {
  HeadNormalizer b;                    // score - b(h) is nearly a log-probability
  uint64_t fitted = 0, certified = 0;  // states
  double mean = 0, rms = 0;            // of log Z - b on the states held out
  std::optional<double> eps;           // with the confidence, all but a share rho of states are within this
};

// One log Z for each state. Throws Error for what does not fit together and fewer than 20 states.
FittedNormalizer fit_normalizer(const Rows& states, std::span<const double> log_z,
                                const NormalizerFitOptions& options = {});

}  // namespace selfnorm
