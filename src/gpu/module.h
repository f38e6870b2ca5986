/* The C interface of libselfnorm_cuda.so, the one place of CUDA: a module that is loaded when a GPU is there
 * (gpu/device.h; python/selfnorm/torch_gpu.py). Plain C, so that any language binds to it and nothing of it
 * is needed to build the rest.
 *
 * Memory: every buffer is the caller's, planned up front by selfnorm_head_workspace. Calls are asynchronous
 * on the given stream, allocate nothing and never wait, so they can be captured in a CUDA graph; the first
 * call of a shape asks cuBLASLt for its algorithm, which is kept. Sums have a fixed order (no atomics): the
 * same GPU gives the same bits. Functions return 0, or 1 with a sentence in selfnorm_cuda_error(context). */
#ifndef SELFNORM_GPU_MODULE_H
#define SELFNORM_GPU_MODULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SELFNORM_CUDA_ABI 2

enum { SELFNORM_F32 = 0, SELFNORM_F16 = 1, SELFNORM_BF16 = 2, SELFNORM_F64 = 3 /* sums alone */ };

typedef struct selfnorm_cuda_context selfnorm_cuda_context;

int selfnorm_cuda_abi(void);
/* How many GPUs the driver shows; 0 without a driver. */
int selfnorm_cuda_devices(void);
/* NULL with a sentence in `error` when the device cannot be used. */
selfnorm_cuda_context* selfnorm_cuda_open(int device, char* error, uint64_t error_bytes);
void selfnorm_cuda_close(selfnorm_cuda_context*);
const char* selfnorm_cuda_error(const selfnorm_cuda_context*);
/* The name of the device ("NVIDIA H200"). */
const char* selfnorm_cuda_name(const selfnorm_cuda_context*);
/* Bytes of device memory: free now, and in all. */
int selfnorm_cuda_memory(selfnorm_cuda_context*, uint64_t* free_bytes, uint64_t* total_bytes);

/* Memory for callers without an allocator of their own. A failure says how much was asked for and is free. */
int selfnorm_cuda_allocate(selfnorm_cuda_context*, uint64_t bytes, void** out);
int selfnorm_cuda_free(selfnorm_cuda_context*, void*);
/* Host floats to device values of a type (rounded to nearest, ties to even), through pinned memory. */
int selfnorm_cuda_upload(selfnorm_cuda_context*, void* to, int type, const float* from, uint64_t count);
/* Device values to host floats. Waits for the work before it. */
int selfnorm_cuda_download(selfnorm_cuda_context*, float* to, const void* from, int type, uint64_t count);
/* Bytes as they are; waits. */
int selfnorm_cuda_to_host(selfnorm_cuda_context*, void* to, const void* from, uint64_t bytes);
int selfnorm_cuda_to_device(selfnorm_cuda_context*, void* to, const void* from, uint64_t bytes);
int selfnorm_cuda_wait(selfnorm_cuda_context*);

/* What the scores of a head and its loss are (gpu/row_formula.h has the formulas). */
typedef struct {
  float logit_scale;     /* of w.h + b; 1 for none */
  float softcap;         /* 0: none */
  float label_smoothing; /* eps, in [0, 1) */
  float penalty;         /* alpha of alpha (A - c)^2; 0: none */
  float center;          /* c */
  int32_t is_mean;       /* the loss is divided by the sum of the token weights */
  int64_t ignore_index;  /* a target that counts nothing */
  int64_t first_class;   /* of this shard */
  int64_t all_classes;   /* of all shards; 0: this is all of them */
} selfnorm_head_options;

/* One pass over a block of states. Pointers are to device memory; what is NULL is not asked for, or not
 * there. Rows are tight but for their strides, counted in elements. */
typedef struct {
  uint64_t size; /* sizeof(selfnorm_head_step) */
  int64_t rows, dim, classes;
  int32_t type;       /* of states and weight */
  int32_t sheet_type; /* of the scores in the workspace: `type`, or SELFNORM_F32 (no gradients then) */
  const void* states; /* rows x dim */
  int64_t state_stride;
  int64_t parts; /* above 1: states are parts x rows x dim, tight, whose sum is meant (selfnorm_split_states);
                    no gradients then */
  const void* weight; /* classes x dim */
  int64_t weight_stride;
  const float* bias;    /* classes; inside scale and cap */
  const float* carrier; /* classes: log h(k), outside of them */
  selfnorm_head_options options;

  const int64_t* target;     /* rows */
  const float* token_weight; /* rows */
  const float* row_gradient; /* rows: derivative by each row's loss (reduction none), or by its log Z without
                                target; NULL: 1 */
  const float* given_log_z;  /* rows: A over all shards; NULL: that of these classes */
  const int64_t* selected;   /* rows x picks, classes to give log-probabilities of */
  int64_t picks;
  const float* selected_gradient; /* rows x picks: gradients are those of the selected log-probabilities */

  float* log_z;        /* rows */
  float* target_score; /* rows; 0 for a class of another shard */
  float* nll;          /* rows, not weighted */
  float* row_penalty;  /* rows, not weighted */
  float* entropy;      /* rows */
  float* expected;     /* rows: sum_k p_k s_k */
  int64_t* best;       /* rows: the first best class */
  int64_t* better; /* rows: how many of these classes are ahead of the target, which is one of them: a higher
                      score, or the same and a smaller index */
  double* moments; /* rows x 5: max, sum exp(s - max), sum exp(s - max)(s - max), sum s, target score */
  float* selected_log_p; /* rows x picks */
  float* loss;           /* 3: loss, its likelihood, its penalty */

  void* d_states;                       /* rows x dim, tight */
  void* d_weight;                       /* classes x dim, tight */
  float* d_bias;                        /* classes */
  int32_t d_states_type, d_weight_type; /* `type` or SELFNORM_F32 */
  int32_t is_added;                     /* d_weight and d_bias are added to what is there */

  void* workspace;
  uint64_t workspace_bytes;
  void* stream;
} selfnorm_head_step;

/* Bytes of workspace for the step: the most rows at once that stay within `budget` bytes of scores, and what
 * one row needs at least. */
uint64_t selfnorm_head_workspace(const selfnorm_head_step*, uint64_t budget);
int selfnorm_head_run(selfnorm_cuda_context*, const selfnorm_head_step*);
/* How the distributions of two heads differ on the same rows and classes: rows x 3 numbers, the largest |p -
 * q|, the largest |log p - log q| over classes with p >= visible, and KL(p || q). Both steps have float32
 * sheets, workspace and moments, which are given too. */
int selfnorm_head_difference(selfnorm_cuda_context*, const selfnorm_head_step* p, const selfnorm_head_step* q,
                             double visible, double* out);
/* The shares p_ik of the classes of a step with a float32 sheet and moments, which are given too: of
 * clusters, cluster j being order[begin[j]] .. order[begin[j + 1] - 1], masses (rows x clusters) <- log sum_k
 * p_ik, at least -80; of classes, shares (classes) <- sum_i p_ik. NULL: not asked for. */
int selfnorm_head_masses(selfnorm_cuda_context*, const selfnorm_head_step*, const uint32_t* order,
                         const uint32_t* begin, int64_t clusters, float* masses, double* shares);
/* After a run with targets: waits for the check of the targets alone, which is the first of its work, and
 * fails for one outside [0, all classes) that is not the ignored one. Not inside a capture. */
int selfnorm_head_status(selfnorm_cuda_context*, const selfnorm_head_step*);
/* x <- x * *factor, in place; reads the factor first and does nothing for 1. */
int selfnorm_cuda_scale(selfnorm_cuda_context*, void* x, int type, uint64_t count, const float* factor,
                        void* stream);

/* States (float32) as a sum of bfloat16 numbers, parts x count: three have no rest (but for numbers below
 * 2^-110), so products with bfloat16 weights are those of float32. */
int selfnorm_split_states(selfnorm_cuda_context*, const float* states, int64_t count, void* parts,
                          int32_t part_count, void* stream);

/* Second moments of rows that stream by, in double: with z = (x - shift, y - shift_y, 1), of p = columns + 2
 * numbers, sums (+)= sum_i z_i z_i',  p x p. `shift` has columns + 1 numbers, `room` count x p, `workspace`
 * 32 MiB; all in device memory. is_first: sums are set. */
int selfnorm_scatter_add(selfnorm_cuda_context*, const float* x, const double* y, const double* shift,
                         int64_t count, int64_t columns, double* room, double* sums, int is_first,
                         void* workspace);

/* AdaGrad with one accumulator a row (optim/adaptive.h), of matrices rows x columns, tight:
 * square_r += |g_r|^2 / columns,  x_r <- keep x_r - rate g_r / sqrt(square_r). */
int selfnorm_row_adagrad(selfnorm_cuda_context*, float* x, float* square, const float* gradient, int64_t rows,
                         int64_t columns, double rate, double keep, void* stream);

/* Training a network energy s(x) = w . a_L (model/energy/mlp.h has the layers and the order of theta) by
 * minibatches against draws. A run is many steps without a word from the host: their points and rates go to
 * the device at once, their records come back at once. gpu/energy_reference.h has the formulas. */
/* Energies know the first two, classes all. */
enum { SELFNORM_SNL = 0, SELFNORM_NCE = 1, SELFNORM_IS = 2, SELFNORM_RANKING = 3 };
/* How a step ended: with a move; with a loss or gradient that is not finite; with too few effective draws;
 * with b too far from log Z. After all but the first nothing has moved, and the steps behind it were not
 * taken. */
enum {
  SELFNORM_STEP_MOVED = 0,
  SELFNORM_STEP_DIVERGED = 1,
  SELFNORM_STEP_LOST = 2,
  SELFNORM_STEP_DRIFTED = 3
};
#define SELFNORM_MOST_LAYERS 16

typedef struct {
  uint64_t size;           /* sizeof(selfnorm_energy_plan) */
  int32_t inputs, fourier; /* d, F */
  int32_t layers, widths[SELFNORM_MOST_LAYERS];
  int32_t activation; /* in the order of math/activation.h */
  int32_t is_residual;
  int32_t objective;
  int32_t rows, samples; /* of a step: points of the data, then draws */
  int32_t most_steps;    /* of a run */
  int32_t has_log_q;     /* draws (nce: data, too) come with their log q; else it is 0 */
  int32_t is_learned;    /* b */
  int32_t is_guarded;    /* snl: rates follow the share of effective draws */
  int32_t remember_every;
  double clip, decay, normalizer_rate, drift;
  double memory;                    /* of the running mean of log Z - b */
  double healthy, lost, guard_rate; /* shares of effective draws, and the rate of their running mean */
} selfnorm_energy_plan;

typedef struct {
  double b, d_b, b_mean, b_square, b_steps; /* b, its derivative, Adam's moments and steps */
  double mean_ratio, guard_mean, guard_scale;
  double steps; /* of Adam on theta */
  int32_t is_remembered, is_halted;
} selfnorm_energy_state;

typedef struct {
  double loss, log_z, effective, norm, b, rate;
  int64_t event;
} selfnorm_energy_record;

typedef struct {
  int64_t step;
  double rate;
  int32_t is_warm;      /* b alone moves */
  int32_t is_continued; /* the gradient is there and nothing is judged: the move after a drift */
} selfnorm_energy_at;

typedef struct {
  uint64_t size; /* sizeof(selfnorm_energy_run_of) */
  int32_t steps;
  const selfnorm_energy_at* at;    /* steps; is_continued: of a run of one */
  const float* points;             /* steps x (rows + samples) x inputs */
  const double* log_q;             /* steps x (rows + samples), or NULL */
  selfnorm_energy_record* records; /* steps */
  int32_t* taken;                  /* steps whose records are filled; the last may have an event */
} selfnorm_energy_run_of;

typedef struct selfnorm_energy selfnorm_energy;
/* All memory is allocated here. A network that does not fit a multiprocessor is an error that says so. */
int selfnorm_energy_open(selfnorm_cuda_context*, const selfnorm_energy_plan*, selfnorm_energy** out);
void selfnorm_energy_close(selfnorm_energy*);
int64_t selfnorm_energy_parameters(const selfnorm_energy_plan*);
/* theta, Adam's moments, the remembered theta and the rest; what is NULL stays, or is not asked for. From and
 * to the host. */
int selfnorm_energy_put(selfnorm_energy*, const float* theta, const float* mean, const float* square,
                        const float* remembered, const selfnorm_energy_state*);
int selfnorm_energy_get(selfnorm_energy*, float* theta, float* mean, float* square, float* remembered,
                        selfnorm_energy_state*);
int selfnorm_energy_run(selfnorm_energy*, const selfnorm_energy_run_of*);
/* s(x_i) of points on the host. */
int selfnorm_energy_scores(selfnorm_energy*, const float* points, int64_t count, double* scores);
/* The gradient of the last step, before it was clipped. */
int selfnorm_energy_gradient(selfnorm_energy*, float* gradient);

/* Training a regressor (model/regressor/regressor.h has the networks, proposal/conditional/mixture.h the
 * mixture) by minibatches against draws of its own mixture, which it makes of numbers that come with the
 * rows. Runs of many steps, as above; gpu/regressor_reference.h has the formulas. */
typedef struct {
  int32_t inputs, layers, widths[SELFNORM_MOST_LAYERS];
} selfnorm_dense_plan; /* model/network/dense_network.h; no layers: what goes in comes out */

typedef struct {
  uint64_t size; /* sizeof(selfnorm_regressor_plan) */
  selfnorm_dense_plan features, tilt_features, mixture, context, tilt, normalizer;
  int32_t numbers, categorical, levels; /* of x: numbers, columns of levels, levels of all of those */
  int32_t activation;                   /* in the order of math/activation.h */
  int32_t has_tilt_features;            /* else the tilt reads `features` */
  int32_t has_tilt, has_normalizer;     /* without a tilt the mixture is all */
  int32_t targets, components;          /* of the mixture */
  int32_t is_scale_shared;              /* the weights of the scales of the mixture are held at 0 */
  int32_t objective;
  int32_t has_base, learns_from_data, learns_by_divergence;
  int32_t rows, samples; /* of a step, at most; draws of a row */
  int32_t most_steps;    /* of a run */
  int32_t has_weight;
  double least_scale, spread, broad_mean, broad_scale, tail_weight, defence;
  double clip, decay, normalizer_rate, average;
} selfnorm_regressor_plan;

typedef struct {
  int64_t step;
  double rate;
  double late_rate; /* of all networks but those of the mixture */
  int32_t rows;     /* of this minibatch */
  int32_t is_warm;  /* the mixture is trained alone */
} selfnorm_regressor_at;

typedef struct {
  double loss, norm, log_ratio, effective, b; /* b, log r and effective draws: means over the rows */
  int64_t event;
} selfnorm_regressor_record;

/* Of each step, rows of the plan long however many it has. */
typedef struct {
  uint64_t size; /* sizeof(selfnorm_regressor_run_of) */
  int32_t steps;
  const selfnorm_regressor_at* at;
  const float* numbers;   /* steps x rows x numbers */
  const uint32_t* levels; /* steps x rows x categorical: places among the levels of all columns */
  const float* targets;   /* steps x rows x targets */
  const double* weight;   /* steps x rows, or NULL */
  const double* choice;   /* steps x rows x samples: in [0, 1), which component; below 0: the broad one */
  const double* normal;   /* steps x rows x samples x targets */
  selfnorm_regressor_record* records; /* steps */
  int32_t* taken;
} selfnorm_regressor_run_of;

typedef struct selfnorm_regressor selfnorm_regressor;
/* All memory is allocated here. Networks that do not fit a multiprocessor are an error that says so. */
int selfnorm_regressor_open(selfnorm_cuda_context*, const selfnorm_regressor_plan*, selfnorm_regressor** out);
void selfnorm_regressor_close(selfnorm_regressor*);
/* theta: that of features, tilt_features, mixture, context, tilt and normalizer, one after the other. */
int64_t selfnorm_regressor_parameters(const selfnorm_regressor_plan*);
/* theta, its moving average and Adam's moments; what is NULL stays, or is not asked for. */
int selfnorm_regressor_put(selfnorm_regressor*, const float* theta, const float* average, const float* mean,
                           const float* square);
int selfnorm_regressor_get(selfnorm_regressor*, float* theta, float* average, float* mean, float* square);
int selfnorm_regressor_run(selfnorm_regressor*, const selfnorm_regressor_run_of*);
/* The gradient of the last step, before it was clipped. */
int selfnorm_regressor_gradient(selfnorm_regressor*, float* gradient);

#ifdef __cplusplus
}
#endif

#include "gpu/module_classes.h"
#endif
