// What a step of a head (gpu/module.h) must give, in double precision by enumeration: the referee of the
// kernels, and of row_formula.h, which they compute with. The formulas are those of row_formula.h; nothing is
// shared.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/module.h"

namespace selfnorm::gpu {

// Matrices are tight and row-major; what is empty is not there.
struct HeadProblem {
  int64_t rows = 0, dim = 0, classes = 0;
  std::vector<float> states, weight, bias, carrier;
  std::vector<int64_t> target;
  std::vector<float> token_weight, row_gradient, given_log_z;
  std::vector<int64_t> selected;
  std::vector<float> selected_gradient;
  int64_t picks = 0;
  bool has_gradient = true;  // else the derivatives of the result stay 0
  selfnorm_head_options options = plain_options();

  static selfnorm_head_options plain_options() { return {1, 0, 0, 0, 0, 1, -100, 0, 0}; }
};

struct HeadResult {
  std::vector<double> log_z, target_score, nll, penalty, entropy, expected, selected_log_p;
  std::vector<int64_t> best, better;
  double loss = 0, likelihood = 0, loss_penalty = 0;
  std::vector<double> d_states, d_weight, d_bias;  // of the loss; with row_gradient, of sum_i row_gradient_i
                                                   // x (row i's weighted loss, or its log Z without targets);
                                                   // with selected, of sum selected_gradient x log p
};

HeadResult head_reference(const HeadProblem& problem);

// What selfnorm_head_masses gives, for clusters of all classes or none.
struct MassResult {
  std::vector<double> masses, shares;
};
MassResult masses_reference(const HeadProblem& problem, const std::vector<uint32_t>& order,
                            const std::vector<uint32_t>& begin);

}  // namespace selfnorm::gpu
