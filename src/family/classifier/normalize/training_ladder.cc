#include "family/classifier/normalize/training_ladder.h"

#include <algorithm>

#include "family/classifier/validation.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

// Fewer would not fit, and not certify, anything.
constexpr double kFewestFitted = 600, kFewestCertified = 900;
constexpr double kFittedShare = 0.4;

}  // namespace

LadderOptions ladder_after(const TrainOptions& training, uint64_t examples, const ModelFile& model,
                           LadderOptions options) {
  const ObjectiveOptions& o = training.objective;
  const double classes = model.classes;
  const double scored =
      is_candidate_objective(o.name) ? std::min(classes, static_cast<double>(o.samples)) : classes;
  const double steps = static_cast<double>(training.epochs * examples) * 3 * scored;
  const double rows = affordable_rows(steps, classes);
  const auto limited = [rows](double share, double fewest, uint64_t most) {
    return static_cast<uint64_t>(std::clamp(share * rows, fewest, static_cast<double>(most)));
  };
  options.most_fitted = limited(kFittedShare, kFewestFitted, options.most_fitted);
  options.most_certified = limited(1 - kFittedShare, kFewestCertified, options.most_certified);
  options.is_hasty = kFittedShare * rows < kFewestFitted;
  options.tries_all = false;
  return options;
}

}  // namespace selfnorm
