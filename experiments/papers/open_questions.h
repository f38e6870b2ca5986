// The open questions of [ARJK 6], one answer each; run_open_questions puts them together.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/experiment.h"

namespace selfnorm {

struct Answer {
  std::string question;
  std::string text;  // computed from the numbers
  Panel panel;
  Table table;
  std::vector<std::pair<std::string, Cell>> facts = {};
  // (family, parameter, value, low, high) with what they mean in the first two words of the CSV's row
  std::vector<std::vector<Cell>> rows = {};
};

// Is Theorem 2 tight? The ratio of its bound to the gap over families of data.
Answer tightness_of_theorem2(const ExperimentOptions& options, const std::function<void(double)>& progress);
// Is the hard distribution of Theorem 4 stable? V* under random perturbations of eta.
Answer stability_of_hardness(const ExperimentOptions& options, const std::function<void(double)>& progress);
// Which inputs normalise easily? V*/Var A against effective rank and sparsity of X.
Answer easy_inputs(const ExperimentOptions& options, const std::function<void(double)>& progress);

}  // namespace selfnorm
