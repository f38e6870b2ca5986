// Steps of a density on a GPU (gpu/module.h): many at a time without a word from the host, which meanwhile
// makes the minibatches and draws of the next ones. These are those of the CPU's steps, so the two differ by
// rounding alone. What needs the host (b is to be estimated anew, the draws are lost) stops the device at
// that step.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "family/density/train/density_problem.h"
#include "gpu/device.h"

namespace selfnorm {

struct DeviceDensityOptions {
  int objective;  // SELFNORM_SNL, ...
  uint64_t rows;  // of a minibatch
  bool has_log_q = false, is_learned = false, is_guarded = false;
  double memory, healthy, lost, guard_rate;  // as the plan of gpu/module.h says
  uint64_t remember_every;
  // The end of the run of steps that begins at one: where others look at the parameters.
  std::function<uint64_t(uint64_t)> end;
  std::function<selfnorm_energy_at(uint64_t)> at;
  // The minibatch of a step and its draws, with their log q, which is empty unless has_log_q.
  std::function<void(uint64_t, std::span<float>, std::span<double>)> points;
};

class DeviceDensity {
 public:
  // Everything but theta that the next step depends on.
  struct Rest {
    std::vector<float> mean, square, remembered;
    selfnorm_energy_state state = {};
  };

  // On the chosen device; none when that is the CPU, and by the choice "auto" also for energies it cannot
  // train. Throws Error for those when a GPU was asked for by name.
  static std::unique_ptr<DeviceDensity> on_chosen_device(DensityProblem& problem,
                                                         DeviceDensityOptions options);
  ~DeviceDensity();

  std::string name() const { return device_.name(); }

  // As DeviceRuns (gpu/device.h).
  const selfnorm_energy_record& record(uint64_t at) { return runs_.record(at); }
  bool is_end(uint64_t at) const { return runs_.is_end(at); }
  void forget() { runs_.forget(); }
  // The move of the last step, which had drifted, with the state and the rate given; the run is over.
  void continue_from(uint64_t at, double rate);

  // s(x_i) with the device's theta.
  void score(const Points& x, std::span<double> s) const;

  // theta of the energy becomes the device's, or the other way round.
  void pull();
  void push();
  Rest rest() const;
  void put(const Rest& rest);
  selfnorm_energy_state state() const;
  void put(const selfnorm_energy_state& state);

 private:
  struct Prepared {
    std::vector<selfnorm_energy_at> at;
    std::vector<float> points;
    std::vector<double> log_q;
  };

  DeviceDensity(const GpuDevice& device, DensityProblem& problem, const selfnorm_energy_plan& plan,
                DeviceDensityOptions options);
  void prepare(uint64_t first, uint64_t steps, Prepared& out) const;
  int32_t run(const Prepared& prepared, std::span<selfnorm_energy_record> records) const;

  const GpuDevice& device_;
  DensityProblem& problem_;
  DeviceDensityOptions options_;
  selfnorm_energy_plan plan_;
  selfnorm_energy* energy_ = nullptr;
  DeviceRuns<Prepared, selfnorm_energy_record> runs_;
};

}  // namespace selfnorm
