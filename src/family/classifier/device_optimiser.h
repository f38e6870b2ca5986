// Adaptive (optim/adaptive.h) of parameters that stay on a GPU: its moments stay there, too.
#pragma once

#include "gpu/device.h"
#include "optim/adaptive.h"

namespace selfnorm {

class DeviceOptimiser {
 public:
  DeviceOptimiser(const GpuDevice& device, bool is_adam, size_t parameters);

  // Of the gradient that `step` names, before it moves anything.
  double gradient_norm(selfnorm_adaptive_step step) const;
  // Moves theta by the gradient that `step` names: step number `at`, from 1 on.
  void update(selfnorm_adaptive_step step, double rate, uint64_t at);

  // The host's moments become these, and the other way round; those behind `parameters` are the host's alone.
  void pull(Adaptive<float>& optimiser) const;
  void push(Adaptive<float>& optimiser);
  // Whether something moved since.
  bool is_ahead() const { return is_ahead_; }

 private:
  const GpuDevice& device_;
  bool is_adam_;
  size_t parameters_;
  GpuMemory square_, mean_, norm_;
  mutable bool is_ahead_ = false;
};

}  // namespace selfnorm
