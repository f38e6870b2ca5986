// Labelled examples with all their scores, streamed: what bounds of the likelihood gap are computed from,
// of a multiclass or joint model on data, or of tables (experiments/theory/feature_table.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace selfnorm {

struct ScoredExample {
  std::span<const double> scores;       // s(x,y) = eta . T(x,y) of every output, without the carrier
  std::span<const double> log_carrier;  // log h(y), or empty for h = 1; -inf: the output does not exist
  uint32_t target = 0;
  double weight = 1;
};

class ScoredExamples {
 public:
  virtual ~ScoredExamples() = default;

  virtual uint64_t examples() const = 0;
  // At most so many examples are asked for at once.
  virtual uint64_t block() const { return 64; }
  // Gives examples begin .. end-1 to `sink` in that order; called from several threads at once.
  virtual void visit(uint64_t begin, uint64_t end,
                     const std::function<void(uint64_t example, const ScoredExample&)>& sink) const = 0;
  // |eta|, and R = sup |T(x,y)| over the examples: |s(x,y)| <= R |eta|.
  virtual double norm() const = 0;
  virtual double radius() const = 0;
};

// A log-linear model on data, with references to the data kept. Multiclass: theta is (d+1) x K
// (model/multiclass.h) and is brought to the gauge of smallest norm, every row minus its mean over the
// classes; T(x,k) = e_k (x) (x, 1), so R = max sqrt(|x|^2 + 1). Joint: theta = eta, d numbers. Throws Error
// for data without rows or labels or of another shape than theta, and when a score is not finite.
std::unique_ptr<ScoredExamples> scored_examples(const Dataset& data, std::vector<double> theta,
                                                std::span<const float> log_carrier);

}  // namespace selfnorm
