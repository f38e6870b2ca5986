// What the steps of gpu/module_classes.h must give, in double precision by enumeration: the referee of the
// kernels and of sampled_formula.h, and what the emulated device runs. The definitions of
// objective/candidate.h are written out anew; nothing is shared.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/module.h"

namespace selfnorm::gpu {

// Matrices are tight and row-major; what is empty is not there.
struct SampledProblem {
  int64_t rows = 0, dim = 0, classes = 0, draws = 0;
  int objective = SELFNORM_SNL;
  bool is_shared = true, leaves_own = false;
  float most_push = 0;
  std::vector<float> states, weight, bias, carrier;
  std::vector<uint32_t> target, draw;
  std::vector<float> target_log_q, draw_log_q, normalizer, factor;
};

struct SampledResult {
  std::vector<double> loss, d_b, log_z, effective;  // log_z and effective: of is and snl, else 0
  std::vector<double> d_draw, d_target;             // rows x draws, rows: derivatives by scores
  std::vector<double> d_states, d_weight, d_bias;   // d_weight: classes x dim
};

SampledResult sampled_reference(const SampledProblem& problem);

// Log-linear scores of rows of a dense matrix, and the gradient by theta, (columns + 1) x classes.
struct LinearProblem {
  int64_t rows = 0, columns = 0, classes = 0;
  std::vector<float> x, theta, carrier;
  std::vector<int64_t> target;
  std::vector<double> by_score, by_log_z;  // empty: no gradient
};

struct LinearResult {
  std::vector<double> log_z, expected, target_score, gradient;
  std::vector<int64_t> better;
};

LinearResult linear_reference(const LinearProblem& problem);

// One coordinate of a selfnorm_adaptive_step, whose numbers change.
void adaptive_reference(const selfnorm_adaptive_step& step, double gradient, double often, bool is_bias,
                        double& theta, double& square, double& mean);

}  // namespace selfnorm::gpu
