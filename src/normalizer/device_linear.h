// Log-linear scores of all classes on a GPU (gpu/module_classes.h): rows of a data set and theta are in its
// memory, the host sees a target's score and log Z of each row and gives derivatives back. ExactPass for all
// rows at once; DeviceLinear for those who keep theta there.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "gpu/device.h"
#include "model/multiclass.h"
#include "normalizer/exact_pass.h"

namespace selfnorm {

// Memory of a device that is as large as was ever asked for.
class GrowingMemory {
 public:
  explicit GrowingMemory(const GpuDevice& device) : device_(device) {}

  // What was there is lost where it must grow.
  template <class T>
  T* get(size_t count) {
    if (memory_ == nullptr || bytes_ < count * sizeof(T)) grow(count * sizeof(T));
    return memory_->get<T>();
  }
  // The values, there.
  template <class Values>
  auto* put(const Values& values) {
    using T = typename Values::value_type;
    T* const to = get<T>(values.size());
    device_.must(device_.module().selfnorm_cuda_to_device(device_.context(), to, values.data(),
                                                          values.size() * sizeof(T)));
    return to;
  }

 private:
  void grow(size_t bytes);

  const GpuDevice& device_;
  std::unique_ptr<GpuMemory> memory_;
  size_t bytes_ = 0;
};

class DeviceLinear {
 public:
  // theta is (features + 1) x classes, feature-major (model/multiclass.h).
  DeviceLinear(const GpuDevice& device, uint32_t classes, uint32_t features,
               std::span<const float> log_carrier);

  // The rows from now on, which may be a minibatch with features renumbered by `map`.
  void load(const Features& x, std::span<const uint32_t> target, const FeatureMap* map);
  void put_theta(std::span<const float> theta);
  void get_theta(std::span<float> theta) const;

  // Visits all rows; with `wants_gradient` the gradient, (columns + 1) x classes, is on the device then.
  void run(const Visit& visit, bool wants_gradient);
  void summarise(const std::function<void(uint64_t, const OutputSummary&)>& sink);
  void get_gradient(std::vector<float>& gradient) const;

  const GpuDevice& device() const { return device_; }
  uint64_t rows() const { return rows_; }
  size_t gradient_size() const { return (columns_ + 1) * classes_; }
  float* theta() const { return theta_.get<float>(); }
  const float* gradient() const { return step_.gradient; }
  const uint32_t* feature() const { return step_.feature; }

 private:
  uint64_t rows_at_once() const;
  // Scores of so many rows from `first` on; their moments, and how many classes are ahead of the targets.
  void score(uint64_t first, uint64_t count, bool counts_better);

  const GpuDevice& device_;
  uint64_t classes_, features_, columns_ = 0, rows_ = 0;
  GpuMemory theta_, carrier_;
  GrowingMemory dense_, row_begin_, column_, value_, column_begin_, row_, row_value_, feature_, target_,
      moments_, better_, by_, gradient_, workspace_;
  selfnorm_linear_step step_ = {};
  std::vector<double> host_moments_, host_by_;
  std::vector<int64_t> host_better_;
};

// An exact pass on the chosen device; none when that is the CPU, and by the choice "auto" also where the work
// is not worth the way or does not fit. Keeps references as Multiclass does.
std::unique_ptr<ExactPass<float>> make_device_pass(const Dataset& data, uint32_t features, uint32_t classes,
                                                   std::span<const float> log_carrier);
// Whether the choice "auto" sends so many stored entries of rows there.
bool is_worth_sending(const Features& x, uint32_t classes);

}  // namespace selfnorm
