// The GPU that exact passes over heads use where there is one. CUDA is in a module, libselfnorm_cuda.so, that
// is loaded when it is first asked for: from SELFNORM_CUDA_MODULE, beside the program, in the library folder,
// or by the system's search path.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/interruption.h"
#include "gpu/module.h"

namespace selfnorm {

// The functions of gpu/module.h.
#define SELFNORM_CUDA_FUNCTIONS(X) \
  X(selfnorm_cuda_abi)             \
  X(selfnorm_cuda_devices)         \
  X(selfnorm_cuda_open)            \
  X(selfnorm_cuda_close)           \
  X(selfnorm_cuda_error)           \
  X(selfnorm_cuda_name)            \
  X(selfnorm_cuda_memory)          \
  X(selfnorm_cuda_allocate)        \
  X(selfnorm_cuda_free)            \
  X(selfnorm_cuda_upload)          \
  X(selfnorm_cuda_to_host)         \
  X(selfnorm_cuda_to_device)       \
  X(selfnorm_head_workspace)       \
  X(selfnorm_head_run)             \
  X(selfnorm_head_difference)      \
  X(selfnorm_head_masses)          \
  X(selfnorm_split_states)         \
  X(selfnorm_scatter_add)          \
  X(selfnorm_row_adagrad)          \
  X(selfnorm_energy_open)          \
  X(selfnorm_energy_close)         \
  X(selfnorm_energy_parameters)    \
  X(selfnorm_energy_put)           \
  X(selfnorm_energy_get)           \
  X(selfnorm_energy_run)           \
  X(selfnorm_energy_scores)        \
  X(selfnorm_regressor_open)       \
  X(selfnorm_regressor_close)      \
  X(selfnorm_regressor_parameters) \
  X(selfnorm_regressor_put)        \
  X(selfnorm_regressor_get)        \
  X(selfnorm_regressor_run)        \
  X(selfnorm_sampled_workspace)    \
  X(selfnorm_sampled_run)          \
  X(selfnorm_sampled_status)       \
  X(selfnorm_row_adagrad_at)       \
  X(selfnorm_linear_workspace)     \
  X(selfnorm_linear_scores)        \
  X(selfnorm_linear_gradient)      \
  X(selfnorm_adaptive_run)

struct GpuModule {
#define SELFNORM_DECLARE(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  SELFNORM_CUDA_FUNCTIONS(SELFNORM_DECLARE)
#undef SELFNORM_DECLARE
};

class GpuDevice {
 public:
  GpuDevice(const GpuModule& module, int number);  // throws Error
  ~GpuDevice();
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  const GpuModule& module() const { return module_; }
  selfnorm_cuda_context* context() const { return context_; }
  std::string name() const;
  uint64_t free_bytes() const;
  void must(int status) const;  // throws Error with the module's sentence

 private:
  const GpuModule& module_;
  selfnorm_cuda_context* context_;
};

// Memory of a device.
class GpuMemory {
 public:
  GpuMemory(const GpuDevice& device, uint64_t bytes);  // throws Error saying what is needed and what is free
  ~GpuMemory();
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  template <class T = void>
  T* get() const {
    return static_cast<T*>(memory_);
  }

 private:
  const GpuDevice& device_;
  void* memory_ = nullptr;
};

// Steps of a training that a device takes many at a time without a word from the host, which meanwhile makes
// what the next ones need. Who asks for one record after the other sees steps one by one.
template <class Prepared, class Record>
class DeviceRuns {
 public:
  static constexpr uint64_t kMostSteps = 64;  // of a run

  struct Work {
    // The end of the run of steps that begins at one: where others look at the parameters.
    std::function<uint64_t(uint64_t)> end;
    std::function<void(uint64_t first, uint64_t steps, Prepared&)> prepare;
    // How many were taken: all, or those up to one with an event.
    std::function<int32_t(const Prepared&, std::span<Record>)> run;
  };
  explicit DeviceRuns(Work work) : work_(std::move(work)) {}

  // Of step `at`; takes the steps from there to the end of their run unless that is done.
  const Record& record(uint64_t at) {
    if (!records_.empty() && at >= first_ && at < first_ + records_.size()) return records_[at - first_];
    if (next_.steps > 0 && next_.first == at)
      std::swap(now_, next_);
    else
      prepare(at, now_);
    next_.steps = 0;
    records_.assign(now_.steps, {});
    first_ = at;
    std::future<int32_t> running =
        std::async(std::launch::async, [this] { return work_.run(now_.prepared, records_); });
    // The device has moved on, so whoever interrupts waits for the end of its run.
    const uint64_t end = at + now_.steps;
    try {
      if (work_.end(end) > end) prepare(end, next_);
    } catch (const Interrupted&) {
      next_.steps = 0;
    }
    records_.resize(static_cast<size_t>(running.get()));
    return records_.front();
  }
  bool is_end(uint64_t at) const { return at + 1 == first_ + records_.size(); }  // of its run
  // What was taken is over: the next record begins a run.
  void forget() { records_.clear(); }

 private:
  struct Run {
    uint64_t first = 0, steps = 0;
    Prepared prepared;
  };

  void prepare(uint64_t first, Run& out) {
    out.first = first;
    out.steps = 0;  // unless all are made
    const uint64_t steps = std::min(first + kMostSteps, work_.end(first)) - first;
    work_.prepare(first, steps, out.prepared);
    out.steps = steps;
  }

  Work work_;
  Run now_, next_;
  uint64_t first_ = 0;
  std::vector<Record> records_;  // of the steps from first_ on
};

// What the process uses from now on: "auto" (a GPU where the module and one are there), "cpu", "cuda" or
// "cuda:N". Throws Error for another word.
void choose_device(const std::string& word);

// The chosen one, opened at the first call; none for the CPU. Throws Error when a GPU was asked for by name
// and cannot be used; `is_required` tells auto from that.
struct DeviceChoice {
  GpuDevice* device = nullptr;
  bool is_required = false;
};
DeviceChoice chosen_device();

// Throws Error with `what`, which says what is done on the CPU alone, when a GPU was asked for by name.
void refuse_device(const std::string& what);

// What records say made their numbers: "cpu", or the name of the GPU once something was computed there.
std::string used_device();
void note_use(const GpuDevice& device);

}  // namespace selfnorm
