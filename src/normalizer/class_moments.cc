#include "normalizer/class_moments.h"

#include <algorithm>

#include "math/process/shared_loop.h"
#include "model/multiclass.h"
#include "normalizer/device_head.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRowBlock = 1024;
constexpr uint64_t kMomentTile = 512;
constexpr uint64_t kUnits =
    64;  // of parallel work, where there are tiles enough: many, so that none is waited for at the end

// Row blocks x class segments; a segment is a run of whole tiles.
struct ClassCut {
  uint64_t blocks, segments, segment, rows, classes;

  ClassCut(uint64_t row_count, uint64_t class_count) : rows(row_count), classes(class_count) {
    blocks = (rows + kRowBlock - 1) / kRowBlock;
    const uint64_t tiles = (classes + kMomentTile - 1) / kMomentTile;
    const uint64_t wanted = std::clamp<uint64_t>(kUnits / std::max<uint64_t>(1, blocks), 1, tiles);
    segment = (tiles + wanted - 1) / wanted * kMomentTile;
    segments = (classes + segment - 1) / segment;
  }
  uint64_t units() const { return blocks * segments; }
  Range block(uint64_t unit) const { return piece(unit / segments, kRowBlock, rows); }
  Range classes_of(uint64_t unit) const { return piece(unit % segments, segment, classes); }

  static Range piece(uint64_t i, uint64_t size, uint64_t total) {
    return {i * size, std::min(total, (i + 1) * size)};
  }
};

template <class Visit>
void for_each_tile(Range classes, const Visit& visit) {
  for (uint64_t first = classes.begin; first < classes.end; first += kMomentTile)
    visit(Range{first, std::min(classes.end, first + kMomentTile)});
}

}  // namespace

ClassMoments class_moments(const ClassScores& scores, const Features& x, std::span<const uint32_t> target) {
  SELFNORM_CHECK(target.empty() || target.size() == x.rows());
  const ClassCut cut(x.rows(), scores.classes());
  std::vector<SoftmaxMoments> parts(x.rows() * cut.segments);
  ClassMoments out{std::vector<SoftmaxMoments>(x.rows()), std::vector<double>(target.size())};
  const auto run_unit = [&](size_t unit) {
    const Range rows = cut.block(unit);
    std::vector<float> values(rows.size() * std::min<uint64_t>(kMomentTile, scores.classes()));
    for_each_tile(cut.classes_of(unit), [&](Range tile) {
      scores.tile(x, rows, tile, values.data());
      for (uint64_t i = rows.begin; i < rows.end; ++i) {
        const float* row = values.data() + (i - rows.begin) * tile.size();
        parts[i * cut.segments + unit % cut.segments].append(softmax_moments(row, tile.size()), tile.begin);
        if (!target.empty() && target[i] >= tile.begin && target[i] < tile.end)
          out.target_score[i] = static_cast<double>(row[target[i] - tile.begin]);
      }
    });
  };
  if (Communicator* const all = sharing(cut.blocks)) {  // processes share the rows
    const UnitShare own = all->share(cut.blocks);
    const auto begin_of = [&](size_t block) { return std::min<uint64_t>(x.rows(), block * kRowBlock); };
    all->share_work(
        [&] {
          parallel_units(own.size() * cut.segments,
                         [&](size_t unit) { run_unit(own.begin * cut.segments + unit); });
        },
        {shared_array(*all, cut.blocks, parts.data(),
                      [&](size_t block) { return begin_of(block) * cut.segments; }),
         shared_array(*all, cut.blocks, out.target_score.data(),
                      [&](size_t block) { return target.empty() ? 0 : begin_of(block); })});
  } else {
    parallel_units(cut.units(), run_unit);
  }
  for (uint64_t i = 0; i < x.rows(); ++i)
    for (uint64_t s = 0; s < cut.segments; ++s) out.rows[i].append(parts[i * cut.segments + s], 0);
  return out;
}

HeadDifference head_difference(const ClassScores& p, const ClassScores& q, const Features& x) {
  SELFNORM_CHECK(p.classes() == q.classes());
  const ClassMoments of_p = class_moments(p, x), of_q = class_moments(q, x);
  const ClassCut cut(x.rows(), p.classes());
  std::vector<HeadDifference> parts(cut.units());
  parallel_units(cut.units(), [&](size_t unit) {
    const Range rows = cut.block(unit);
    std::vector<float> a(rows.size() * kMomentTile), b(rows.size() * kMomentTile);
    HeadDifference& part = parts[unit];
    for_each_tile(cut.classes_of(unit), [&](Range tile) {
      p.tile(x, rows, tile, a.data());
      q.tile(x, rows, tile, b.data());
      for (uint64_t i = rows.begin; i < rows.end; ++i) {
        const LogSumExp &sum_p = of_p.rows[i].total, &sum_q = of_q.rows[i].total;
        for (uint64_t k = 0; k < tile.size(); ++k) {
          const uint64_t place = (i - rows.begin) * tile.size() + k;
          part.add(sum_p.log_share(static_cast<double>(a[place])),
                   sum_q.log_share(static_cast<double>(b[place])));
        }
      }
    });
  });
  HeadDifference total;
  for (const HeadDifference& part : parts) total.add(part);
  return total;
}

HeadDifference model_difference(const ModelFile& p, const ModelFile& q, const Dataset& examples) {
  SELFNORM_CHECK(p.family == q.family && p.features == q.features && p.classes == q.classes);
  if (p.family == Family::Multiclass) {
    const bool sparse = examples.features.is_sparse;
    if (!sparse) {
      const auto there = DeviceHead::on_chosen_device(p);
      const auto other = there ? DeviceHead::on_chosen_device(q) : nullptr;
      if (other) return there->difference(*other, examples.features);
    }
    return head_difference(*make_class_scores(p, sparse), *make_class_scores(q, sparse), examples.features);
  }
  const Joint<float> model(examples.features, p.features);
  HeadDifference out;
  for (uint64_t g = 0; g < examples.examples(); ++g) {
    std::vector<double> a, b;
    LogSumExp sum_a, sum_b;
    for (uint64_t row = examples.group_begin[g]; row < examples.group_begin[g + 1]; ++row) {
      a.push_back(model.score(p.weight, row));
      b.push_back(model.score(q.weight, row));
      sum_a.add(a.back());
      sum_b.add(b.back());
    }
    for (size_t y = 0; y < a.size(); ++y) out.add(sum_a.log_share(a[y]), sum_b.log_share(b[y]));
  }
  return out;
}

}  // namespace selfnorm
