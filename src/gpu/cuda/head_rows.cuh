// The kernels between the products of a head: what they take, and how they are launched.
#pragma once

#include <cuda_runtime.h>

#include "gpu/module.h"
#include "gpu/row_formula.h"

namespace selfnorm::gpu {

// A block of rows of scores, which become derivatives in place.
struct RowTask {
  void* sheet;      // rows x stride of products w_k . h
  int64_t stride;   // elements; rows begin at multiples of 16 bytes
  int64_t first;    // row of the step
  int64_t rows;
  int32_t classes;
  int32_t segment;  // classes of one thread block of a row's cluster
  const float *bias, *carrier;
  float scale, cap;
  LossOptions loss;
  int64_t first_class, ignore_index;
  const int64_t *target, *selected;
  int64_t picks;
  const float *selected_gradient, *given_log_z;
  const float* coefficient;  // rows of the step: what multiplies a row's derivatives
  float *log_z, *target_score, *nll, *penalty, *entropy, *expected, *selected_log_p;
  int64_t *best, *better;
  double* moments;
  bool has_gradient;
};

// Scalars in device memory, in front of the workspace.
struct StepScalars {
  float one, zero;
  float scale;      // of the gradients: the largest |coefficient| over the mean's denominator
  float inverse;    // 1 / denominator of the loss
  int64_t wrong_row, wrong_target;  // -1: none
};

// coefficient_i <- token weight x row gradient, 0 where ignored, over the largest of them; wrong targets and
// selected classes are found.
void prepare_rows(const selfnorm_head_step& step, StepScalars* scalars, float* coefficient, cudaStream_t stream);
// sheet_type: of the sheet. `sm_major`: compute capability, for clusters.
void run_rows(const RowTask& task, int sheet_type, int sm_major, cudaStream_t stream);
// loss <- the weighted sum over rows of nll and penalty, in the order of the rows.
void sum_loss(const selfnorm_head_step& step, const StepScalars* scalars, const float* nll, const float* penalty,
              cudaStream_t stream);
// out (rows x 3 of the step) <- how p and q differ; sheets are float32, moments are there.
void difference_of_rows(const RowTask& p, const RowTask& q, double visible, double* out, cudaStream_t stream);
// As selfnorm_head_masses, of the rows of the task; shares are added to what is there.
struct MassTask {
  const uint32_t *order, *begin;
  int64_t clusters;
  float* masses;
  double* shares;
};
void masses_of_rows(const RowTask& task, const MassTask& masses, cudaStream_t stream);
// d_bias (+)= scale x column sums of the sheet; `partial` has kBiasSlabs x classes floats.
inline constexpr int kBiasSlabs = 16;
void sum_columns(const RowTask& task, int sheet_type, const StepScalars* scalars, float* partial, float* d_bias,
                 bool is_added, cudaStream_t stream);

}  // namespace selfnorm::gpu
