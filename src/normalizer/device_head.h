// class_moments of a head that lies on a GPU: the same numbers from float32 scores. Weights that are bfloat16
// numbers (as they are in a bfloat16 head) are held as such, and states are then split into a sum of bfloat16
// numbers, so that every product is exact and sums are in float32, as on the CPU; other weights are held and
// multiplied in float32.
#pragma once

#include <memory>
#include <span>

#include "gpu/device.h"
#include "model/model_file.h"
#include "normalizer/class_moments.h"

namespace selfnorm {

struct DeviceMoments : ClassMoments {
  std::vector<uint64_t> better;  // classes ahead of the target (OutputSummary); empty without targets
};

class DeviceHead {
 public:
  // Rows that are worth sending at once.
  static constexpr uint64_t kRows = 4096;

  // On the chosen device (gpu/device.h); none when that is the CPU, and by the choice "auto" also where the
  // head is small or does not fit.
  static std::unique_ptr<DeviceHead> on_chosen_device(const ModelFile& model);
  ~DeviceHead();

  // Whether the weights are bfloat16 numbers, as rungs of kind nearest hold them.
  bool holds_bfloat16() const { return type_ == SELFNORM_BF16; }

  // As class_moments: dense rows, `target` empty or one class a row, of which those that are no class are
  // left out.
  DeviceMoments moments(const Features& rows, std::span<const uint32_t> target) const;

  // log p(k | x_i) of the classes listed, for every row: rows x classes.
  std::vector<float> log_probs(const Features& rows, std::span<const uint32_t> classes) const;

  // Of clusters of classes (order and begin of ClassClusters): log of each one's share of the sum, rows x
  // clusters, at least -80. And the mean share of every class.
  std::vector<float> cluster_masses(const Features& rows, std::span<const uint32_t> order,
                                    std::span<const uint32_t> begin) const;
  std::vector<double> mean_shares(const Features& rows) const;

  // As head_difference, of this head and another on the same device.
  HeadDifference difference(const DeviceHead& other, const Features& rows) const;

 private:
  struct Buffers;
  DeviceHead(const GpuDevice& device, const ModelFile& model);
  selfnorm_head_step step_for(const Features& rows, uint64_t first, uint64_t count) const;
  void send(const Features& rows, uint64_t first, uint64_t count, selfnorm_head_step& step) const;

  const GpuDevice& device_;
  uint64_t classes_, features_;
  int type_;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace selfnorm
