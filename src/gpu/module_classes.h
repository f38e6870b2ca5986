/* Training of classes, a part of gpu/module.h: candidate objectives of an output layer, log-linear models,
 * and the optimisers of both. Calls are as those of heads: asynchronous, without allocation, sums in a fixed
 * order. */
#ifndef SELFNORM_GPU_MODULE_CLASSES_H
#define SELFNORM_GPU_MODULE_CLASSES_H

#include "gpu/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A minibatch of a candidate objective (SELFNORM_SNL, ...; gpu/sampled_formula.h): each row's target against
 * draws of a proposal, without a log-normalizer. With d_ij the derivative of the loss by the score of draw j,
 *     d_states_i = sum_j d_ij w_{y_j} + d_i w_{y_i},   d_used_k = sum over the uses of class k of d h.
 * Pointers are to device memory; classes are below `classes`. */
typedef struct {
  uint64_t size; /* sizeof(selfnorm_sampled_step) */
  int64_t rows, dim, classes;
  int32_t type; /* of states and weight: SELFNORM_F32 or SELFNORM_BF16 */
  int32_t objective;
  int64_t draws;      /* of a row */
  int32_t is_shared;  /* every row uses the same draws; else each has its own */
  int32_t leaves_own; /* shared: row i does not use draw i, which is its target (in-batch noise) */
  float most_push;    /* is, snl: the most that a row may push scores down in sum; 0: any */
  const void* states; /* rows x dim */
  int64_t state_stride;
  const void* weight; /* classes x dim */
  int64_t weight_stride;
  const float *bias, *carrier; /* classes, or NULL */
  const uint32_t* target;      /* rows */
  const float* target_log_q;   /* rows */
  const uint32_t* draw;        /* draws, or rows x draws */
  const float* draw_log_q;     /* the same */
  const float* normalizer;     /* rows: b; NULL: 0 */
  const float* factor;         /* rows: of the derivatives; NULL: 1 */
  /* Distinct classes, where the list of each ends, and the lists: places among all draws, then (from their
   * number on) among the rows whose target it is. */
  int64_t used_count;
  const uint32_t *used, *used_end, *used_place;

  float* terms;       /* rows x 4: loss, its derivative by b, log Z_hat, effective draws; not multiplied */
  float* d_states;    /* rows x dim, or NULL */
  float* d_used;      /* used_count x dim */
  float* d_used_bias; /* or NULL */

  void* workspace;
  uint64_t workspace_bytes;
  void* stream;
} selfnorm_sampled_step;

uint64_t selfnorm_sampled_workspace(const selfnorm_sampled_step*);
int selfnorm_sampled_run(selfnorm_cuda_context*, const selfnorm_sampled_step*);
/* Waits, and fails for a target or draw that is no class. Not inside a capture. */
int selfnorm_sampled_status(selfnorm_cuda_context*, const selfnorm_sampled_step*);

/* AdaGrad on some rows of a matrix (RowAdagrad of optim/adaptive.h): row index[i] of x takes gradient i,
 * after the decay that it missed, exp(log_decay - decayed[row]). Without `decayed` nothing decays; without a
 * gradient all rows, then, only decay. */
int selfnorm_row_adagrad_at(selfnorm_cuda_context*, float* x, float* square, double* decayed,
                            const float* gradient, const uint32_t* index, int64_t rows, int64_t columns,
                            double rate, double log_decay, void* stream);

/* A log-linear model with feature-major parameters, s_k(x) = log h(k) + sum_j x_j theta_jk + theta_bk, on
 * rows that are in device memory, dense or sparse. A step is of `count` rows from `first` on. */
typedef struct {
  uint64_t size; /* sizeof(selfnorm_linear_step) */
  int64_t columns, classes;
  const float* dense; /* rows x columns; NULL: sparse */
  const uint64_t* row_begin;
  const uint32_t* column;
  const float* value;
  const uint64_t* column_begin; /* the same by columns, rows rising */
  const uint32_t* row;
  const float* row_value;
  const uint32_t* feature;             /* sparse: the row of theta of a column; NULL: its number */
  const float *theta, *bias, *carrier; /* bias: a row of theta; carrier may be NULL */
  const int64_t* target;               /* of all rows */
  int64_t first, count;

  double* moments; /* count x 5, as those of heads */
  int64_t* better; /* count, as that of heads, or NULL */

  const double *by_score, *by_log_z; /* count: derivatives by the target's score and by log Z */
  float* gradient;                   /* (columns + 1) x classes, biases last */
  int32_t is_added;

  void* workspace; /* the sheet of the scores is here from one call to the other */
  uint64_t workspace_bytes;
  void* stream;
} selfnorm_linear_step;

uint64_t selfnorm_linear_workspace(const selfnorm_linear_step*);
int selfnorm_linear_scores(selfnorm_cuda_context*, const selfnorm_linear_step*);
/* After selfnorm_linear_scores of the same rows; the sheet is used up. */
int selfnorm_linear_gradient(selfnorm_cuda_context*, const selfnorm_linear_step*);

/* Adaptive of optim/adaptive.h on rows of a matrix, with l2 and l1 that are divided by `often` of a row. */
typedef struct {
  uint64_t size; /* sizeof(selfnorm_adaptive_step) */
  int32_t is_adam;
  int64_t rows, columns;   /* of the gradient */
  int64_t bias_row;        /* of theta, without l1 and l2: the last of the gradient's; -1: there is none */
  int64_t bias_column;     /* without l1 and l2; -1: none */
  const uint32_t* feature; /* the rows of theta of the other rows; NULL: their numbers */
  const float* often;      /* by rows of theta; NULL: 1 */
  const float* gradient;
  float *theta, *square, *mean; /* mean: of Adam; without theta the norm alone is asked for */
  double rate, l1, l2;
  int64_t step; /* from 1 on */
  double* norm; /* 257: the square of the norm of the gradient, without l2, then room; or NULL */
  void* stream;
} selfnorm_adaptive_step;
int selfnorm_adaptive_run(selfnorm_cuda_context*, const selfnorm_adaptive_step*);

#ifdef __cplusplus
}
#endif
#endif
