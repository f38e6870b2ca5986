// What is said and drawn of CRFs on a treebank.
#pragma once

#include <string>
#include <vector>

#include "experiments/record.h"
#include "experiments/sequences/trial.h"

namespace selfnorm {

struct MeasuredCrf {
  CrfTrial trial;
  CellValues cell;
  double lost = 0;        // NLL of a token, exact, less that of the exact model
  double lost_error = 0;  // its standard error over the test sentences, paired
};

// sum_i d_i / sum_i T_i with d_i the difference of the NLLs of test sentence i to the first model's, and the
// standard error of that ratio, sqrt(sum_i (d_i - ratio T_i)^2) / sum_i T_i.
void compare_with_first(const Sequences& test, std::vector<MeasuredCrf>& crfs);

// Everything as numbers, a row a model.
Table crf_numbers(const std::vector<MeasuredCrf>& crfs);
// Models; A on the three parts of the data; A by the length of the sentence.
std::vector<Table> crf_tables(const std::vector<MeasuredCrf>& crfs);
Panel trade_off_panel(const std::vector<MeasuredCrf>& crfs);
// Against the length of the sentence: rms A, and rms A per token.
std::vector<Panel> length_panels(const std::vector<MeasuredCrf>& crfs);

}  // namespace selfnorm
