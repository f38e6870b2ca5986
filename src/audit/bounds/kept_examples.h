// Scored examples in memory, for many passes over them.
#pragma once

#include <vector>

#include "audit/bounds/scored_examples.h"

namespace selfnorm {

class KeptExamples final : public ScoredExamples {
 public:
  explicit KeptExamples(const ScoredExamples& examples);

  uint64_t examples() const override { return kept_.size(); }
  double norm() const override { return norm_; }
  double radius() const override { return radius_; }
  void visit(uint64_t begin, uint64_t end,
             const std::function<void(uint64_t, const ScoredExample&)>& sink) const override;

 private:
  struct Kept {
    std::vector<double> scores;
    uint32_t target = 0;
    double weight = 1;
  };

  std::vector<Kept> kept_;
  std::vector<double> log_carrier_;
  double norm_, radius_;
};

}  // namespace selfnorm
