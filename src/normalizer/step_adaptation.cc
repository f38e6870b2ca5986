#include "selfnorm/normalizer/step_adaptation.h"

#include <cmath>

namespace selfnorm {
namespace {

constexpr double kGamma = 0.05, kDelay = 10, kKappa = 0.75;

}  // namespace

StepAdaptation::StepAdaptation(double first_step, double wanted_acceptance)
    : mu_(std::log(10 * first_step)),
      wanted_(wanted_acceptance),
      step_(first_step),
      log_average_(std::log(first_step)) {}

void StepAdaptation::observe(double acceptance) {
  const auto t = static_cast<double>(++t_);
  const double share = 1 / (t + kDelay), recent = std::pow(t, -kKappa);
  deviation_ = (1 - share) * deviation_ + share * (wanted_ - acceptance);
  const double log_step = mu_ - std::sqrt(t) / kGamma * deviation_;
  log_average_ = recent * log_step + (1 - recent) * log_average_;
  step_ = std::exp(log_step);
}

double StepAdaptation::average() const { return std::exp(log_average_); }

}  // namespace selfnorm
