// The softmax over classes whose rows of W are split over processes (model/class_shard.h): every process has
// the scores of its own classes and, for each row of a batch and block of classes, (m, sum) of
//     sum_k exp(s_k - m),  m = max_k s_k,
// which are merged block by block in the order of the classes: log Z has the same bits for any number of
// processes. What travels is 24 bytes a row.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "math/kernels.h"
#include "model/class_scores.h"
#include "model/class_shard.h"
#include "model/model_file.h"
#include "normalizer/exact_pass.h"

namespace selfnorm {

// Of all classes.
struct ShardSum {
  LogSumExp total;
  double target = 0;  // the score of the row's own class
};

template <class Real>
class ShardSoftmax {
 public:
  // out (rows x classes, tight) <- s_k(x_i) for a block of the own classes, counted from the first of them.
  using Score = std::function<void(Range rows, Range classes, Real* out)>;

  ShardSoftmax(const ClassShard& shard, Score score) : shard_(shard), score_(std::move(score)) {}

  // Of rows with a class each; all processes together.
  std::vector<ShardSum> run(Range rows, std::span<const uint32_t> target);

  // Of an own block, after run(): exp(s - m) of rows x its classes becomes
  //     d_ik = dA_i exp(m - A_i) exp(s_ik - m) + ds_i [k = y_i].
  Real* differentiate(size_t b, std::span<const ShardSum> sums, std::span<const uint32_t> target,
                      std::span<const ScoreDerivatives> d, Range rows);

 private:
  ClassShard shard_;
  Score score_;
  std::vector<std::vector<Real>> values_;  // of an own block, rows x classes
  std::vector<std::vector<ShardSum>> parts_;
};

// Rows of W of the own classes, as a model file has them, and log h + their biases.
ShardSoftmax<float> shard_of_head(const ClassShard& shard, const ModelFile& own,
                                  std::span<const float> states);

// Of a model whose rows of W are those of the own classes, for any number of inputs, all processes together;
// a tile of scores at a time is in memory.
struct ShardSummary {
  SoftmaxMoments moments;
  double target = 0;    // the score of the row's own class
  uint64_t better = 0;  // classes ahead of it: a higher score, or the same and a smaller number
};
enum class ShardRanks { left_out, counted };  // which takes the scores once more
std::vector<ShardSummary> shard_summaries(const ClassShard& shard, const ModelFile& own, const Features& x,
                                          std::span<const uint32_t> target, ShardRanks ranks);
std::vector<ShardSummary> shard_summaries(const ClassShard& shard, const ClassScores& own, const Features& x,
                                          std::span<const uint32_t> target, ShardRanks ranks);

// A log-linear model: theta has the columns of the own classes (model/multiclass.h).
template <class Real>
std::unique_ptr<ExactPass<Real>> make_shard_pass(const ClassShard& shard, const Dataset& data,
                                                 uint32_t features, const FeatureMap* map = nullptr);

inline constexpr uint64_t kShardRows = 64;    // of a unit of work
inline constexpr uint64_t kShardStrip = 256;  // rows whose scores are in memory at once

}  // namespace selfnorm
