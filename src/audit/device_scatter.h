// The sums of LeastSquares on a GPU, in double: rows are shifted by the means of the first block, and the
// moments about the shift become those about the means at the end.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "audit/least_squares.h"
#include "gpu/device.h"

namespace selfnorm {

class DeviceScatter {
 public:
  // On the chosen device (gpu/device.h); none when that is the CPU, and by the choice "auto" also for few
  // columns.
  static std::shared_ptr<DeviceScatter> on_chosen_device(uint32_t columns);

  DeviceScatter(const GpuDevice& device, uint32_t columns);
  void add(const Features& x, std::span<const double> y);  // dense, all columns
  ScatterSums sums() const;

 private:
  static constexpr uint64_t kRows = 4096;  // at once

  const GpuDevice& device_;
  uint64_t columns_, rows_ = 0;
  std::vector<double> shift_;  // of x and of y, last
  GpuMemory x_, y_, shift_there_, room_, sums_, workspace_;
};

}  // namespace selfnorm
