#include "classifier/train_ladder.h"

#include <cmath>

namespace selfnorm::cli {

LadderFit end_with_ladder(const Arguments& arguments, uint64_t seed, const ExampleSource& held_out,
                          ModelFile& model, Verdict& verdict) {
  ProgressLine line(arguments.common.quiet);
  LadderFit fit = fit_ladder(model, held_out, ladder_options(arguments.ladder, seed, line));
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
