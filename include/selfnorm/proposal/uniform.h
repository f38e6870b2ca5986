// q(k) = 1/K.
#pragma once

#include "selfnorm/proposal/proposal.h"

namespace selfnorm {

class Uniform final : public Proposal {
 public:
  explicit Uniform(uint32_t classes) : classes_(classes) {}

  uint32_t classes() const override { return classes_; }
  uint32_t sample(RandomStream& random) const override;
  double log_prob(uint32_t k) const override;

 private:
  uint32_t classes_;
};

}  // namespace selfnorm
