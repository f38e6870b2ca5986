// Steps of a regressor's member on a GPU (gpu/module.h): many at a time without a word from the host, which
// meanwhile makes the minibatches of the next ones and the numbers that their draws are made of. These are
// those of the CPU's steps, so the two differ by rounding alone.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "family/regressor/train/regressor_problem.h"
#include "gpu/device.h"

namespace selfnorm {

// What a run of steps reads, each with room for a whole minibatch.
struct DeviceRegressorRows {
  std::vector<selfnorm_regressor_at> at;
  std::vector<float> number, target;
  std::vector<uint32_t> level;
  std::vector<double> weight, choice, normal;
};

// That of one step; without a tilt there are no draws, without weights none of them.
struct DeviceRegressorStep {
  std::span<float> number, target;
  std::span<uint32_t> level;  // places among the levels of all columns
  std::span<double> weight, choice, normal;
};

struct DeviceRegressorOptions {
  uint64_t rows, parameters;              // of a minibatch, at most; of all networks
  std::function<uint64_t(uint64_t)> end;  // as DeviceRuns says
  std::function<selfnorm_regressor_at(uint64_t, const DeviceRegressorStep&)> read;
};

class DeviceRegressor {
 public:
  // On the chosen device; none when that is the CPU, and by the choice "auto" also for regressors it cannot
  // train. Throws Error for those when a GPU was asked for by name.
  static std::unique_ptr<DeviceRegressor> on_chosen_device(const RegressorProblem& problem,
                                                           const RegressorNetworks& networks,
                                                           DeviceRegressorOptions options);
  // The name of the device that would train members of the problem; empty: the CPU.
  static std::string name_for(const RegressorProblem& problem);
  ~DeviceRegressor();

  std::string name() const { return device_.name(); }
  const selfnorm_regressor_record& record(uint64_t at) { return runs_.record(at); }
  bool is_end(uint64_t at) const { return runs_.is_end(at); }

  // What the next step depends on; what is empty stays, or is not asked for. The run is over.
  struct Parameters {
    std::span<float> theta, average, mean, square;
  };
  void put(const Parameters& from);
  void get(const Parameters& to) const;
  void forget() { runs_.forget(); }

 private:
  DeviceRegressor(const GpuDevice& device, const selfnorm_regressor_plan& plan,
                  DeviceRegressorOptions options);
  void prepare(uint64_t first, uint64_t steps, DeviceRegressorRows& out) const;
  int32_t run(const DeviceRegressorRows& rows, std::span<selfnorm_regressor_record> records) const;

  const GpuDevice& device_;
  DeviceRegressorOptions options_;
  selfnorm_regressor_plan plan_;
  selfnorm_regressor* regressor_ = nullptr;
  DeviceRuns<DeviceRegressorRows, selfnorm_regressor_record> runs_;
};

}  // namespace selfnorm
