#include "objective/sampled.h"

#include "objective/registry.h"

namespace selfnorm {
namespace {

class Sampled final : public Objective {
 public:
  Sampled(double alpha, double gamma) : alpha_(alpha), gamma_(gamma) {}
  LossTerms operator()(const ExampleScores& x) const override {
    LossTerms terms{.likelihood = -x.score, .penalty = 0, .d_score = -1, .d_log_z = 0, .d_centre = 0};
    if (x.normalised) {
      terms.penalty = alpha_ / x.fraction * x.log_z * x.log_z;
      terms.d_log_z = 2 * alpha_ / x.fraction * x.log_z;
    }
    return terms;
  }

  double normalised_fraction() const override { return gamma_; }

 private:
  double alpha_;
  double gamma_;
};

}  // namespace

ObjectiveEntry sampled_entry() {
  return {.name = "sampled",
          .text = "the penalty on a fraction gamma of each minibatch, the likelihood from raw scores",
          .seam = ObjectiveSeam::log_z,
          .offers = {{"classifier", {"alpha", "gamma", "calibrate"}},
                     {"lm", {"alpha", "gamma", "calibrate"}},
                     {"crf", {"alpha", "gamma", "calibrate"}}},
          .leaves_level = true,
          .is_subsampled = true,
          .make = [](const ObjectiveOptions& o) { return std::make_unique<Sampled>(o.alpha, o.gamma); }};
}

}  // namespace selfnorm
