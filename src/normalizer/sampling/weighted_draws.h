// Draws of a density q with their importance weights for an energy, a block at a time; a block can be drawn
// again, so that only weights have to be kept.
#pragma once

#include <vector>

#include "sampler/annealing_path.h"

namespace selfnorm {

class WeightedDraws {
 public:
  WeightedDraws(const Energy& energy, const Density& proposal, uint64_t count, uint64_t seed);

  uint64_t count() const { return count_; }
  uint64_t block_rows() const { return block_rows_; }
  uint64_t blocks() const { return (count_ + block_rows_ - 1) / block_rows_; }

  // Draw i of the whole is draw i % block_rows() of block i / block_rows().
  struct Block {
    std::vector<float> rows;
    std::vector<double> log_q;       // empty where the weights need none
    std::vector<double> log_weight;  // -inf: impossible under the energy
  };
  void points(uint64_t block, Block& out) const;
  // Points and weights. Throws Error when a weight is NaN or +inf.
  void draw(uint64_t block, Block& out) const;

 private:
  AnnealingPath path_;
  const Density& proposal_;
  uint64_t count_, seed_, block_rows_;
};

}  // namespace selfnorm
