// The log-normalizer of a multiclass model by enumeration, in blocks: the n x K score matrix never exists.
//
// A block of rows meets the classes in tiles. Pass 1 computes a tile of scores S, replaces it by exp(S - m)
// with m the row maximum of the tile, and merges (m, sum) over the tiles into A. Pass 2 turns the tile into
// derivatives
//     d_ik = dA_i exp(m - A_i) exp(S_ik - m) + ds_i [k = y_i]
// and adds X^T d to the gradient. The tiles of a block are kept between the passes when they fit the budget,
// and computed again when they do not, so memory beyond data, parameters and one gradient stays below 128 MB
// for any n and K. The cut into blocks and tiles depends on the sizes only, never on threads: same input,
// same bits.
#pragma once

#include <vector>

#include "model/multiclass.h"
#include "normalizer/exact_pass.h"

namespace selfnorm {

// How a problem of this shape is cut.
struct EnumerationPlan {
  uint64_t block = 64;     // rows per block
  uint64_t tile = 1;       // classes per tile
  bool keep_tiles = true;  // between the passes
  uint64_t chunks = 0;     // > 0: rows in this many pieces, each with its own gradient, summed in order;
                           // 0: one gradient, tiles in parallel
};

EnumerationPlan plan_enumeration(uint64_t rows, uint32_t classes, size_t gradient_size, size_t real_size);

template <class Real>
class Enumeration final : public ExactPass<Real> {
 public:
  // Keeps a reference to target (the class of every row) and the references the model keeps.
  Enumeration(Multiclass<Real> model, const std::vector<uint32_t>& target);

  uint64_t examples() const override { return model_.rows(); }
  size_t parameters() const override { return model_.parameters(); }
  size_t gradient_size() const override { return model_.gradient_size(); }
  void run(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
           std::span<Real> gradient) const override;
  void summarise(std::span<const Real> theta,
                 const std::function<void(uint64_t, const OutputSummary&)>& sink) const override;

 private:
  struct BlockPass;

  void run_by_rows(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                   std::span<Real> gradient, const EnumerationPlan& plan) const;
  void run_by_tiles(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                    std::span<Real> gradient, const EnumerationPlan& plan) const;
  void run_unnormalised(std::span<const Real> theta, uint64_t first, const Visit& visit,
                        std::span<Real> gradient) const;

  Multiclass<Real> model_;
  const std::vector<uint32_t>& target_;
};

}  // namespace selfnorm
