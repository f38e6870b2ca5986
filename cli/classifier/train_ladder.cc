#include "classifier/train_ladder.h"

#include <algorithm>
#include <cmath>

#include "family/classifier/validation.h"
#include "objective/registry.h"

namespace selfnorm::cli {
namespace {

// Fewer would not fit, and not certify, anything.
constexpr double kFewestFitted = 800, kFewestCertified = 1500;

void limit_inputs(const TrainOptions& training, uint64_t examples, const ModelFile& model,
                  LadderOptions& ladder) {
  const ObjectiveOptions& o = training.objective;
  const double classes = model.classes;
  const double scored =
      is_candidate_objective(o.name) ? std::min(classes, static_cast<double>(o.samples)) : classes;
  const double steps = static_cast<double>(training.epochs * examples) * 3 * scored;
  const double rows = affordable_rows(steps, classes);
  const auto limited = [rows](double share, double fewest, uint64_t most) {
    return static_cast<uint64_t>(std::clamp(share * rows, fewest, static_cast<double>(most)));
  };
  ladder.most_fitted = limited(0.4, kFewestFitted, ladder.most_fitted);
  ladder.most_certified = limited(0.6, kFewestCertified, ladder.most_certified);
}

}  // namespace

LadderFit end_with_ladder(const Arguments& arguments, uint64_t examples, const ExampleSource& held_out,
                          ModelFile& model, Verdict& verdict) {
  const TrainOptions& training = arguments.training().options;
  ProgressLine line(arguments.common.quiet);
  LadderOptions options = ladder_options(arguments.ladder, training.seed, line);
  limit_inputs(training, examples, model, options);
  LadderFit fit = fit_ladder(model, held_out, options);
  line.finish();
  model.ladder = fit.ladder;
  const MeasuredRung& best = fit.best();
  verdict.audit["served"] = {{"kind", runtime::name(best.kind)}, {"rung", best.name}, {"reason", fit.reason}};
  if (!fit.is_exact())
    verdict.audit["served"].update(
        {{"eps", best.eps}, {"rho", best.rho}, {"conf", best.conf}, {"cost", best.cost}});
  verdict.table += "served: " + chosen_text(fit) + "\n";
  return fit;
}

}  // namespace selfnorm::cli
