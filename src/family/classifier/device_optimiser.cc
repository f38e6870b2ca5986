#include "family/classifier/device_optimiser.h"

#include <cmath>

namespace selfnorm {
namespace {

constexpr size_t kNormNumbers = 257;  // selfnorm_adaptive_step

}  // namespace

DeviceOptimiser::DeviceOptimiser(const GpuDevice& device, bool is_adam, size_t parameters)
    : device_(device),
      is_adam_(is_adam),
      parameters_(parameters),
      square_(device, parameters * sizeof(float)),
      mean_(device, (is_adam ? parameters : 1) * sizeof(float)),
      norm_(device, kNormNumbers * sizeof(double)) {}

double DeviceOptimiser::gradient_norm(selfnorm_adaptive_step step) const {
  step.size = sizeof(step);
  step.norm = norm_.get<double>();
  step.theta = nullptr;
  device_.must(device_.module().selfnorm_adaptive_run(device_.context(), &step));
  double square = 0;
  device_.must(
      device_.module().selfnorm_cuda_to_host(device_.context(), &square, norm_.get(), sizeof(square)));
  return std::sqrt(square);
}

void DeviceOptimiser::update(selfnorm_adaptive_step step, double rate, uint64_t at) {
  step.size = sizeof(step);
  step.is_adam = is_adam_ ? 1 : 0;
  step.square = square_.get<float>();
  step.mean = mean_.get<float>();
  step.rate = rate;
  step.step = static_cast<int64_t>(at);
  device_.must(device_.module().selfnorm_adaptive_run(device_.context(), &step));
  is_ahead_ = true;
}

void DeviceOptimiser::pull(Adaptive<float>& optimiser) const {
  const auto copy = [&](std::vector<float>& to, const GpuMemory& from) {
    device_.must(device_.module().selfnorm_cuda_to_host(device_.context(), to.data(), from.get(),
                                                        parameters_ * sizeof(float)));
  };
  copy(optimiser.state().square, square_);
  if (is_adam_) copy(optimiser.state().mean, mean_);
  is_ahead_ = false;
}

void DeviceOptimiser::push(Adaptive<float>& optimiser) {
  const auto send = [&](const GpuMemory& to, const std::vector<float>& from) {
    device_.must(device_.module().selfnorm_cuda_upload(device_.context(), to.get(), SELFNORM_F32, from.data(),
                                                       parameters_));
  };
  send(square_, optimiser.state().square);
  if (is_adam_) send(mean_, optimiser.state().mean);
  is_ahead_ = false;
}

}  // namespace selfnorm
