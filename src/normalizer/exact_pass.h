// The seam between models and objectives: one pass over the examples that gives each example's target score
// and exact log-normalizer to a visitor, takes back the derivatives, and accumulates the gradient of the
// parameters.
//
// With s = s(x,y) and A = log sum_y' h(y') exp s(x,y'), a visitor that returns (ds, dA) adds to the gradient
//     ds * d s / d theta + dA * d A / d theta,      d A / d s(x,y') = p(y'|x).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace selfnorm {

struct ScoreDerivatives {
  double score = 0;
  double log_z = 0;
};

// Called once per example. Examples are visited from any thread, but those of one granule (the kGranule
// examples that share example / kGranule) in order and never at the same time, so a visitor may keep one sum
// per granule. log_z is NaN for examples that were not normalised.
inline constexpr uint64_t kGranule = 64;
using Visit = std::function<ScoreDerivatives(uint64_t example, double score, double log_z)>;

// What there is to know of one example's distribution.
struct OutputSummary {
  double score = 0;  // of the target
  double log_z = 0;
  double log_prob = 0;  // of the target, score - log_z without their rounding (log_sum_exp.h); at most 0
  double entropy = 0;   // - sum_y p(y) log p(y)
  uint64_t better = 0;  // outputs ahead of the target: a higher score, or the same score and a smaller index
  uint64_t outputs = 0;
};

template <class Real>
class ExactPass {
 public:
  virtual ~ExactPass() = default;

  virtual uint64_t examples() const = 0;
  virtual size_t parameters() const = 0;
  virtual size_t gradient_size() const = 0;

  // Visits the first `normalised` examples with their log-normalizers and the others with the target's score
  // alone. `gradient` is added to, or is empty when only values are wanted.
  virtual void run(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                   std::span<Real> gradient) const = 0;

  virtual std::string device() const { return {}; }  // the GPU it runs on; empty: none

  virtual void summarise(std::span<const Real> theta,
                         const std::function<void(uint64_t example, const OutputSummary&)>& sink) const = 0;
};

}  // namespace selfnorm
