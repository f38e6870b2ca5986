// The three kernels of a step of a network energy: every block takes a few points forward and back and leaves a gradient of
// its own; these are added in the order of the blocks; Adam moves theta by what follows from the sums (energy_reference.h).
// theta is kept twice, with each matrix also transposed, so that both ways read weights in the order of the threads.
#pragma once

#include <cuda_runtime.h>

#include "gpu/energy_reference.h"

namespace selfnorm::gpu {

struct EnergyBuffers {
  float *theta, *turned, *mean, *square, *remembered;
  float *partial, *gradient;  // blocks x parameters; parameters
  double* squares;            // of the gradient, one for each block of sum_gradients
  EnergySums* sums;           // of the blocks
  selfnorm_energy_state* states;  // two: a step reads one and writes the other
  selfnorm_energy_record* records;
  selfnorm_energy_at* at;
  float* points;
  double* log_q;  // or null
};

struct EnergyTask {
  selfnorm_energy_plan plan;
  EnergyLayout layout;
  EnergyBuffers to;
  int blocks;   // of a pass
  int widest;   // layer
};

// Points that a block takes at once: 4, 8, 12 or 16.
size_t pass_memory(const EnergyTask& task, int points);
void prepare_pass(const EnergyTask& task, int points);  // room for them; throws Failure
void launch_step(const EnergyTask& task, int points, int step, cudaStream_t stream);
// The move alone, of a gradient that is there.
void launch_move(const EnergyTask& task, int step, cudaStream_t stream);
void launch_turn(const EnergyTask& task, cudaStream_t stream);
void launch_scores(const EnergyTask& task, int points, const float* x, int64_t count, double* out, cudaStream_t stream);
int gradient_blocks(const EnergyTask& task);

}  // namespace selfnorm::gpu
