#include "classifier/train_ladder.h"

#include "family/classifier/normalize/training_ladder.h"

namespace selfnorm::cli {

LadderFit end_with_ladder(const Arguments& arguments, uint64_t examples, const HeldOutInputs& held_out,
                          ModelFile& model, Verdict& verdict) {
  const TrainOptions& training = arguments.training().options;
  ProgressLine line(arguments.common.quiet);
  LadderOptions options =
      ladder_after(training, examples, model, ladder_options(arguments.ladder, training.seed, line));
  options.certifies = held_out.part != RowsPart::kTrained;
  LadderFit fit = fit_ladder(model, held_out.inputs, options);
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
