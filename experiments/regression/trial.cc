#include "experiments/regression/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/table/frame.h"
#include "experiments/regression/jobs.h"
#include "family/regressor/regression_evaluation.h"
#include "family/regressor/train/regressor_options.h"
#include "family/regressor/train/regressor_problem.h"
#include "family/regressor/train/regressor_trainer.h"
#include "selfnorm/error.h"

namespace selfnorm {

namespace {

// A mixture alone has A = 0 up to the error of the quadrature.
bool is_tilted(double a) { return std::abs(a) > 1e-3; }

}  // namespace

std::string trial_key(const RegressionTrial& trial) {
  const RegressorOptions options =
      RegressorProblem(*trial.frame, {trial.target}, trial.train, trial.valid, trial.options).options();
  return fmt::format(
      "{} {} data {} held out {} test {}", regressor_objective_json(options),
      regressor_training_json(options, "", trial.train.size(), 0),
      regressor_fingerprint(*trial.frame, {trial.target}, trial.train, trial.valid, trial.options),
      trial.valid.size(), trial.test.size());
}

TrialResult run_trial(const RegressionTrial& trial) {
  const double start = thread_seconds();
  TrainObserver observer;
  RegressorResult result =
      train_regressor(*trial.frame, {trial.target}, trial.train, trial.valid, trial.options, {}, observer);
  TrialResult out;
  std::map<std::string, double>& numbers = out.cell.numbers;
  numbers["seconds"] = thread_seconds() - start;
  numbers["diverged"] = result.diverged ? 1 : 0;
  out.model = std::move(result.model);
  for (const char* name :
       {"nll", "nll_error", "nll_b", "crps", "rmse", "in50", "b_rms", "quadrature", "tilted"})
    numbers[name] = NAN;
  EncodingReport report;
  out.test = out.model.encoder.encode(*trial.frame, report).take(trial.test);
  const std::vector<double> target = numeric_targets(*trial.frame, {trial.target}, trial.test);
  try {
    const RegressionEvaluation e =
        evaluate_regressor(out.model, out.test.view(), target, RegressionEvaluationOptions{});
    numbers["nll"] = e.nll;
    numbers["nll_error"] = e.nll_error;
    numbers["nll_b"] = e.nll_b;
    numbers["crps"] = e.coordinates[0].crps;
    numbers["rmse"] = e.coordinates[0].rmse;
    numbers["in50"] = e.coordinates[0].coverage[0].central;
    numbers["b_rms"] = e.log_z.rms;
    numbers["quadrature"] = e.quadrature_error;
    numbers["tilted"] = std::any_of(e.a.begin(), e.a.end(), is_tilted) ? 1 : 0;
  } catch (const Error&) {
    // a model that has no A has no likelihood
  }
  numbers["all_seconds"] = thread_seconds() - start;
  return out;
}

}  // namespace selfnorm
