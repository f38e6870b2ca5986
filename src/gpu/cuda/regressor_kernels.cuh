// The three kernels of a step of a regressor: every block takes some rows forward and back, each with its draws, and leaves a
// gradient of its own; these are added in the order of the blocks; Adam moves theta. theta is kept twice, with each matrix
// also transposed, so that both ways read weights in the order of the threads. The mixture and the objective are in double.
#pragma once

#include <cuda_runtime.h>

#include "gpu/regressor_reference.h"

namespace selfnorm::gpu {

struct RegressorBuffers {
  float *theta, *turned, *mean, *square, *average;
  float *partial, *gradient;  // blocks x parameters; parameters
  double* squares;            // of the gradient, one for each block of its sum
  RegressorSums* sums;        // of the blocks
  selfnorm_regressor_record* records;
  selfnorm_regressor_at* at;
  float *numbers, *targets;
  uint32_t* levels;
  double *weight, *choice, *normal;  // weight: or null
};

// Where a block keeps a row in its shared memory: counted in doubles, then in floats behind those.
struct RegressorPlaces {
  int constant, share, mean, scale, slope;               // of the mixture: K, K, K x d
  int terms;                                             // log of each component at each point
  int base, tail, defended, score, by_tail, by_defended; // of each point; derivatives by both broadened log q
  int doubles;

  int numbers, targets, dh, dh_tilt;
  int value[kMostRegressorLayers], by[kMostRegressorLayers];  // a_l and f'(z_l), which becomes the derivative by z_l
  int by_score, room;
  int floats;
};

struct RegressorTask {
  selfnorm_regressor_plan plan;
  RegressorLayout layout;
  RegressorPlaces at;
  RegressorBuffers to;
  int points, tiles;  // points of a tile: 4, 8, .. 20; tiles of a row
  int blocks;         // of a pass
};

void place_row(RegressorTask& task);  // fills all but the buffers and blocks
size_t row_memory(const RegressorTask& task);
void prepare_rows(const RegressorTask& task);  // room for one; throws Failure
void launch_step(const RegressorTask& task, int step, cudaStream_t stream);
void launch_turn(const RegressorTask& task, cudaStream_t stream);
int gradient_blocks(const RegressorTask& task);

}  // namespace selfnorm::gpu
