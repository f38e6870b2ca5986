#include "normalizer/teacher_enumeration.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "math/kernels.h"
#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kKeptBytes = 96u << 20;
constexpr uint64_t kLargestBlock = 512;
constexpr uint64_t kTile = 1024;

// Of one row within one tile.
struct Part {
  LogSumExp sum;
  double expected = 0;  // sum over the tile of q_k s_k
};

}  // namespace

TeacherEnumeration::TeacherEnumeration(const Multiclass<float>& model, const Features& rows,
                                       const ClassScores& teacher, std::span<const double> teacher_log_z)
    : model_(model), rows_(rows), teacher_(teacher), teacher_log_z_(teacher_log_z) {
  SELFNORM_CHECK(teacher.classes() == model.classes() && rows.rows() == model.rows());
  SELFNORM_CHECK(teacher_log_z.size() == rows.rows());
}

void TeacherEnumeration::run(std::span<const float> theta, uint64_t normalised, const Visit& visit,
                             std::span<float> gradient) const {
  SELFNORM_CHECK(theta.size() == parameters() && normalised >= examples());
  SELFNORM_CHECK(gradient.empty() || gradient.size() == gradient_size());
  const uint64_t classes = model_.classes(), tiles = (classes + kTile - 1) / kTile;
  const uint64_t block = std::clamp<uint64_t>(
      kKeptBytes / (2 * sizeof(float) * classes) / kGranule * kGranule, kGranule, kLargestBlock);
  std::vector<float> student(block * classes), shares(block * classes);
  std::vector<Part> parts(block * tiles);
  std::vector<double> log_z(block);
  std::vector<ScoreDerivatives> d(block);
  const auto tile_of = [&](uint64_t t) { return Range{t * kTile, std::min(classes, (t + 1) * kTile)}; };

  for (uint64_t first = 0; first < examples(); first += block) {
    const Range rows{first, std::min(examples(), first + block)};
    parallel_units(tiles, [&](size_t t) {
      const Range tile = tile_of(t);
      float* scores = student.data() + block * tile.begin;
      float* q = shares.data() + block * tile.begin;
      model_.scores(theta, rows, tile, scores);
      teacher_.tile(rows_, rows, tile, q);
      for (uint64_t i = 0; i < rows.size(); ++i) {
        float* s = scores + i * tile.size();
        float* share = q + i * tile.size();
        const LogSumExp teacher_sum = exp_in_place(share, tile.size());
        scale(static_cast<float>(std::exp(teacher_sum.max - teacher_log_z_[rows.begin + i])), share,
              tile.size());
        parts[t * block + i].expected = dot(share, s, tile.size());
        parts[t * block + i].sum = exp_in_place(s, tile.size());
      }
    });
    for (uint64_t i = 0; i < rows.size(); ++i) {
      Part total;
      for (uint64_t t = 0; t < tiles; ++t) {
        total.sum.merge(parts[t * block + i].sum);
        total.expected += parts[t * block + i].expected;
      }
      log_z[i] = total.sum.value();
      d[i] = visit(rows.begin + i, total.expected, log_z[i]);
    }
    if (gradient.empty()) continue;
    parallel_units(tiles, [&](size_t t) {
      const Range tile = tile_of(t);
      float* p = student.data() + block * tile.begin;
      const float* q = shares.data() + block * tile.begin;
      for (uint64_t i = 0; i < rows.size(); ++i) {
        float* row = p + i * tile.size();
        scale(static_cast<float>(d[i].log_z * std::exp(parts[t * block + i].sum.max - log_z[i])), row,
              tile.size());
        add_scaled(static_cast<float>(d[i].score), q + i * tile.size(), row, tile.size());
      }
      model_.backward(rows, tile, p, gradient.data());
    });
  }
}

void TeacherEnumeration::summarise(std::span<const float>,
                                   const std::function<void(uint64_t, const OutputSummary&)>&) const {
  throw Bug("TeacherEnumeration has no summaries");
}

}  // namespace selfnorm
