#include "experiments/experiment.h"

#include <fmt/format.h>

#include "selfnorm/error.h"

namespace selfnorm {

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all = {
      {"fig1a", "the set of inputs that one model normalises", 0.1, run_fig1a},
      {"fig1b", "the set of parameters that normalise given inputs", 0.1, run_fig1b},
      {"fig2a", "likelihood gap against the tolerance of log Z", 80, run_fig2a},
      {"fig2b", "likelihood gap against the distance from uniform", 30, run_fig2b},
      {"table-ak", "normalising a sample: the gamma and alpha sweeps of [AK]", 35, run_table_ak},
      {"theorem4", "distributions that are hard to normalise", 0.1, run_theorem4},
      {"open-questions", "what the paper leaves open, measured", 7, run_open_questions},
      {"density-toys", "densities of the plane: objectives and proposals", 4000, run_density_toys, "density"},
      {"density-sensitivity", "gap against dimension, samples and proposal width", 600,
       run_density_sensitivity, "density"},
      {"density-ising", "binary vectors with known couplings", 400, run_density_ising, "density"},
      {"density-tables", "real tables against Gaussian, mixture and KDE", 400, run_density_tables, "density"},
      {"regression-tasks", "two regressions with a known truth: every objective", 300, run_regression_tasks,
       "regression"},
      {"regression-uci", "real tables with the standard splits", 600, run_regression_uci, "regression"},
      {"sequences-ewt", "part-of-speech tags: likelihood against log Z", 800, run_sequences_ewt, "sequences"},
      {"sequences-time", "raw against exact scoring of sentences", 30, run_sequences_time, "sequences"},
  };
  return all;
}

const Experiment& find_experiment(const std::string& name) {
  std::string names;
  for (const Experiment& experiment : experiments()) {
    if (experiment.name == name) return experiment;
    names += experiment.name + ", ";
  }
  throw Error(
      fmt::format("no experiment '{}'; expected one of {}all (the papers), density, regression or sequences",
                  name, names));
}

}  // namespace selfnorm
