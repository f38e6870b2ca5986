// What is said and drawn of chains on a treebank.
#pragma once

#include <string>
#include <vector>

#include "experiments/record.h"
#include "experiments/sequences/trial.h"

namespace selfnorm {

struct MeasuredChain {
  ChainTrial trial;
  CellValues cell;
  double lost = 0;        // NLL of a token, exact, less that of the exact model
  double lost_error = 0;  // its standard error over the test sentences, paired
};

// sum_i d_i / sum_i T_i with d_i the difference of the NLLs of test sentence i to the first model's, and the
// standard error of that ratio, sqrt(sum_i (d_i - ratio T_i)^2) / sum_i T_i.
void compare_with_first(const Sequences& test, std::vector<MeasuredChain>& chains);

// Everything as numbers, a row a model.
Table chain_numbers(const std::vector<MeasuredChain>& chains);
// Models; A on the three parts of the data; A by the length of the sentence.
std::vector<Table> chain_tables(const std::vector<MeasuredChain>& chains);
Panel trade_off_panel(const std::vector<MeasuredChain>& chains);
// Against the length of the sentence: rms A, and rms A per token.
std::vector<Panel> length_panels(const std::vector<MeasuredChain>& chains);

}  // namespace selfnorm
