#include "selfnorm/train/density_batches.h"

#include <algorithm>

namespace selfnorm {
namespace {

constexpr uint64_t kBatchStream = 0x0DE5;

}  // namespace

DensityBatches::DensityBatches(const DensityProblem& problem, std::span<const uint64_t> train_rows)
    : problem_(problem),
      train_rows_(train_rows),
      order_(train_rows.size(), RandomStream(problem.options().seed, kBatchStream).next()),
      rows_(std::min<uint64_t>(problem.options().batch, train_rows.size())),
      per_epoch_(train_rows.size() / rows_) {}

void DensityBatches::read(uint64_t step) {
  order_.slice(step / per_epoch_, step % per_epoch_ * rows_, rows_, places_);
  for (uint64_t& place : places_) place = train_rows_[place];
  problem_.read(places_, points_);
}

}  // namespace selfnorm
