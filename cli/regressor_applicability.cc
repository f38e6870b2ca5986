#include "regressor_applicability.h"

#include "applicability.h"

namespace selfnorm::cli {

void check_regressor_applicability(const Arguments& arguments) {
  const RegressorOptions& o = arguments.regressor.options;
  const Applicability rules(arguments);
  rules.require({"--joint", "--normalizer", "--own-features", "--base", "--warm-up"}, o.objective != "mdn",
                "score networks", "--objective mdn, which is the mixture alone");
  rules.require_objective({"--samples", "--defence", "--learn-proposal"}, o.objective,
                          {"snl", "is", "nce", "ranking-nce", "nce+", "kld-is"});
  rules.require_objective({"--langevin-steps", "--langevin-step"}, o.objective, {"mcmc"});
  rules.require_objective({"--noise"}, o.objective, {"dsm", "nce+", "kld-is"});
  rules.require_objective({"--normalizer-rate", "--no-calibrate"}, o.objective, {"snl", "nce", "nce+"});
  rules.require({"--features"}, o.module.empty(), "feature networks of ours", "--module " + o.module);
}

}  // namespace selfnorm::cli
