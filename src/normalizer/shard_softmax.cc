#include "normalizer/shard_softmax.h"

#include <cmath>

#include "math/gemm.h"
#include "selfnorm/error.h"

namespace selfnorm {

template <class Real>
std::vector<ShardSum> ShardSoftmax<Real>::run(Range rows, std::span<const uint32_t> target) {
  SELFNORM_CHECK(target.size() == rows.size());
  const size_t n = rows.size(), strips = (n + kShardRows - 1) / kShardRows;
  const UnitShare own = shard_.own_blocks();
  values_.resize(own.size());
  parts_.assign(own.size(), std::vector<ShardSum>(n));
  for (size_t i = 0; i < own.size(); ++i) values_[i].resize(n * shard_.block(own.begin + i).size());
  parallel_units(own.size() * strips, [&](size_t unit) {
    const size_t at = unit / strips, b = own.begin + at;
    const size_t first = unit % strips * kShardRows, last = std::min<size_t>(n, first + kShardRows);
    const Range classes = shard_.block(b);
    const size_t width = classes.size();
    Real* out = values_[at].data() + first * width;
    score_({rows.begin + first, rows.begin + last}, shard_.own_block(b), out);
    for (size_t i = first; i < last; ++i, out += width) {
      ShardSum& part = parts_[at][i];
      if (target[i] >= classes.begin && target[i] < classes.end)
        part.target = static_cast<double>(out[target[i] - classes.begin]);
      part.total = exp_in_place(out, width);
    }
  });
  std::vector<ShardSum> sums(n);
  shard_.add_in_order(std::span(sums), kShardRows, [&](size_t b, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const ShardSum& part = parts_[b - own.begin][i];
      sums[i].total.merge(part.total);
      sums[i].target += part.target;
    }
  });
  return sums;
}

template <class Real>
Real* ShardSoftmax<Real>::differentiate(size_t b, std::span<const ShardSum> sums,
                                        std::span<const uint32_t> target, std::span<const ScoreDerivatives> d,
                                        Range rows) {
  const size_t at = b - shard_.own_blocks().begin;
  const Range classes = shard_.block(b);
  const size_t width = classes.size();
  Real* const values = values_[at].data() + rows.begin * width;
  for (size_t i = rows.begin; i < rows.end; ++i) {
    Real* row = values_[at].data() + i * width;
    scale(static_cast<Real>(d[i].log_z * std::exp(parts_[at][i].total.max - sums[i].total.value())), row,
          width);
    if (target[i] >= classes.begin && target[i] < classes.end)
      row[target[i] - classes.begin] += static_cast<Real>(d[i].score);
  }
  return values;
}

ShardSoftmax<float> shard_of_head(const ClassShard& shard, const ModelFile& own,
                                  std::span<const float> states) {
  const size_t m = own.features;
  SELFNORM_CHECK(own.weight.size() == shard.own().size() * m && own.log_carrier.empty());
  return {shard, [&own, states, m](Range rows, Range classes, float* out) {
            const size_t width = classes.size();
            for (uint64_t i = 0; i < rows.size(); ++i)
              std::copy_n(own.bias.data() + classes.begin, width, out + i * width);
            gemm_by_rows(rows.size(), width, m, states.data() + rows.begin * m, m,
                         own.weight.data() + classes.begin * m, m, out, width);
          }};
}

namespace {

constexpr uint64_t kSummaryTile = 512, kSummaryStrip = 1024;  // classes, rows

// visit(block, row, first class, scores, how many) of rows x the own classes, in parallel by blocks and rows.
template <class Visit>
void for_own_scores(const ClassShard& shard, const ClassScores& scores, const Features& x, Range rows,
                    const Visit& visit) {
  const UnitShare own = shard.own_blocks();
  const size_t strips = (rows.size() + kShardRows - 1) / kShardRows;
  parallel_units(own.size() * strips, [&](size_t unit) {
    const size_t b = own.begin + unit / strips;
    const uint64_t first = rows.begin + unit % strips * kShardRows,
                   last = std::min(rows.end, first + kShardRows);
    const Range here = shard.own_block(b);
    std::vector<float> values((last - first) * std::min<uint64_t>(kSummaryTile, here.size()));
    for (uint64_t k = here.begin; k < here.end; k += kSummaryTile) {
      const Range tile{k, std::min(here.end, k + kSummaryTile)};
      scores.tile(x, {first, last}, tile, values.data());
      for (uint64_t i = first; i < last; ++i)
        visit(b, i, k + shard.own().begin, values.data() + (i - first) * tile.size(), tile.size());
    }
  });
}

void summarise_strip(const ClassShard& shard, const ClassScores& scores, const Features& x, Range rows,
                     std::span<const uint32_t> target, ShardRanks ranks, std::span<ShardSummary> out) {
  const UnitShare own = shard.own_blocks();
  std::vector<std::vector<ShardSummary>> parts(own.size(), std::vector<ShardSummary>(rows.size()));
  const auto part_of = [&](size_t b, uint64_t i) -> ShardSummary& {
    return parts[b - own.begin][i - rows.begin];
  };
  const auto add_parts = [&](const auto& add) {
    shard.add_in_order(out, kShardRows, [&](size_t b, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) add(out[i], parts[b - own.begin][i]);
    });
  };
  for_own_scores(shard, scores, x, rows,
                 [&](size_t b, uint64_t i, uint64_t first, const float* values, size_t n) {
                   ShardSummary& part = part_of(b, i);
                   part.moments.append(softmax_moments(values, n), first);
                   if (target[i] >= first && target[i] < first + n)
                     part.target = static_cast<double>(values[target[i] - first]);
                 });
  add_parts([](ShardSummary& sum, const ShardSummary& part) {
    sum.moments.append(part.moments, 0);
    sum.target += part.target;
  });
  if (ranks == ShardRanks::left_out) return;
  for_own_scores(
      shard, scores, x, rows, [&](size_t b, uint64_t i, uint64_t first, const float* values, size_t n) {
        const auto own_score = static_cast<float>(out[i - rows.begin].target);
        uint64_t& better = part_of(b, i).better;
        for (size_t k = 0; k < n; ++k)
          better += values[k] > own_score || (values[k] == own_score && first + k < target[i]) ? 1 : 0;
      });
  add_parts([](ShardSummary& sum, const ShardSummary& part) { sum.better += part.better; });
}

}  // namespace

std::vector<ShardSummary> shard_summaries(const ClassShard& shard, const ModelFile& own, const Features& x,
                                          std::span<const uint32_t> target, ShardRanks ranks) {
  ModelFile columns;  // of a sparse model, whose weights are turned, and so copied, anyway
  if (x.is_sparse) {
    columns.features = own.features;
    columns.classes = static_cast<uint32_t>(shard.own().size());
    columns.weight = own.weight;
    columns.bias = own.bias;
  }
  return shard_summaries(shard, *make_class_scores(x.is_sparse ? columns : own, x.is_sparse), x, target,
                         ranks);
}

std::vector<ShardSummary> shard_summaries(const ClassShard& shard, const ClassScores& own, const Features& x,
                                          std::span<const uint32_t> target, ShardRanks ranks) {
  std::vector<ShardSummary> out(target.size());
  for (uint64_t first = 0; first < target.size(); first += kSummaryStrip) {
    const Range rows{first, std::min<uint64_t>(target.size(), first + kSummaryStrip)};
    summarise_strip(shard, own, x, rows, target, ranks, std::span(out).subspan(first, rows.size()));
  }
  return out;
}

namespace {

template <class Real>
class ShardPass final : public ExactPass<Real> {
 public:
  ShardPass(const ClassShard& shard, const Dataset& data, uint32_t features, const FeatureMap* map)
      : shard_(shard),
        target_(data.target),
        model_(data.features, static_cast<uint32_t>(shard.own().size()), features, {}, map) {}

  uint64_t examples() const override { return model_.rows(); }
  size_t parameters() const override { return model_.parameters(); }
  size_t gradient_size() const override { return model_.gradient_size(); }

  void run(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
           std::span<Real> gradient) const override {
    SELFNORM_CHECK(normalised >= examples() && theta.size() == parameters());
    ShardSoftmax<Real> softmax(
        shard_, [&](Range rows, Range classes, Real* out) { model_.scores(theta, rows, classes, out); });
    const UnitShare own = shard_.own_blocks();
    std::vector<ScoreDerivatives> d;
    for (uint64_t first = 0; first < examples(); first += kShardStrip) {
      const Range rows{first, std::min(examples(), first + kShardStrip)};
      const auto target = target_.subspan(rows.begin, rows.size());
      const std::vector<ShardSum> sums = softmax.run(rows, target);
      d.clear();
      for (uint64_t i = 0; i < rows.size(); ++i)
        d.push_back(visit(first + i, sums[i].target, sums[i].total.value()));
      if (gradient.empty()) continue;
      parallel_units(own.size(), [&](size_t at) {
        const size_t b = own.begin + at;
        model_.backward(rows, shard_.own_block(b),
                        softmax.differentiate(b, sums, target, d, {0, rows.size()}), gradient.data());
      });
    }
  }

  void summarise(std::span<const Real>,
                 const std::function<void(uint64_t, const OutputSummary&)>&) const override {
    throw Bug("a shard of classes has no summaries");
  }

 private:
  ClassShard shard_;
  std::span<const uint32_t> target_;
  Multiclass<Real> model_;
};

}  // namespace

template <class Real>
std::unique_ptr<ExactPass<Real>> make_shard_pass(const ClassShard& shard, const Dataset& data,
                                                 uint32_t features, const FeatureMap* map) {
  return std::make_unique<ShardPass<Real>>(shard, data, features, map);
}

template class ShardSoftmax<float>;
template class ShardSoftmax<double>;
template std::unique_ptr<ExactPass<float>> make_shard_pass(const ClassShard&, const Dataset&, uint32_t,
                                                           const FeatureMap*);
template std::unique_ptr<ExactPass<double>> make_shard_pass(const ClassShard&, const Dataset&, uint32_t,
                                                            const FeatureMap*);

}  // namespace selfnorm
