// The leapfrog step that has a wanted acceptance, by dual averaging (Hoffman & Gelman 2014, section 3.2):
//     log step_t = mu - sqrt(t) / gamma H_t,   H_t = (1 - 1/(t + t0)) H_{t-1} + (wanted - acceptance_t) / (t
//     + t0), log average_t = t^-kappa log step_t + (1 - t^-kappa) log average_{t-1},
// with gamma = 0.05, t0 = 10, kappa = 0.75, mu = log(10 first step).
#pragma once

#include <cstdint>

namespace selfnorm {

class StepAdaptation {
 public:
  StepAdaptation(double first_step, double wanted_acceptance);

  void observe(double acceptance);
  double step() const { return step_; }  // while adapting
  double average() const;                // afterwards

 private:
  double mu_, wanted_, step_;
  double deviation_ = 0, log_average_ = 0;
  uint64_t t_ = 0;
};

}  // namespace selfnorm
