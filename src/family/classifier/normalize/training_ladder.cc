#include "family/classifier/normalize/training_ladder.h"

#include <fmt/format.h>

#include <algorithm>

#include "family/classifier/validation.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

// Fewer would not fit, and not certify, anything.
constexpr double kLeastFitted = 600, kLeastCertified = 900;
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
    return std::min(most, static_cast<uint64_t>(
                              std::clamp(share * rows, fewest, std::max(fewest, static_cast<double>(most)))));
  };
  options.most_fitted = limited(kFittedShare, kLeastFitted, options.most_fitted);
  options.most_certified = limited(1 - kFittedShare, kLeastCertified, options.most_certified);
  options.is_hasty = kFittedShare * rows < kLeastFitted;
  options.tries_all = false;
  return options;
}

LadderOptions TrainingLadder::options(uint64_t seed) const {
  LadderOptions out;
  out.within = within;
  out.rho = rho;
  out.confidence = confidence;
  out.seed = seed;
  return out;
}

OptionTable training_ladder_option_table(double& within, double& rho, double& confidence, bool& no_ladder) {
  OptionTable table;
  table
      .add("within", &within,
           fmt::format(
               "How far served log-probabilities may be off, for all but a share {} of inputs with "
               "confidence {}: "
               "training ends with a ladder of log-normalizers, fitted to and certified on held-out rows, of "
               "which "
               "the model keeps the cheapest that is precise enough; below 1,000 classes, and where none is, "
               "'score' sums exactly",
               option_name("rho"), option_name("conf")))
      .above(0);
  const std::string promise = option_name("within");
  table.add("rho", &rho, promise + ": ... for all but this fraction of inputs").above(0).below(1);
  table.add("conf", &confidence, promise + ": ... with this confidence").above(0).below(1);
  table.add("no-ladder", &no_ladder, "End without the ladder: 'score' sums exactly unless told otherwise");
  return table;
}

}  // namespace selfnorm
