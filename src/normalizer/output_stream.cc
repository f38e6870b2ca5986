#include "normalizer/output_stream.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>

#include "base/failure.h"
#include "math/parallel.h"
#include "model/multiclass.h"
#include "normalizer/class_moments.h"
#include "normalizer/device_head.h"

namespace selfnorm {
namespace {

constexpr uint64_t kBlockBytes = 16u << 20;
constexpr uint64_t kGroupsAtOnce = 64;

bool is_sparse(const ExampleSource& source) { return source.block(0, 1).features.is_sparse; }

}  // namespace

uint64_t block_size(const ExampleSource& source) {
  return std::clamp<uint64_t>(kBlockBytes / (uint64_t{source.columns()} * sizeof(float)), 1024, 4096);
}

OutputStream::OutputStream(const ModelFile& model, const ExampleSource& source)
    : model_(model), source_(source) {
  const bool joint = model.family == Family::Joint;
  if (source.examples() == 0) throw Error("the data has no rows; expected at least one");
  if (joint != source.is_joint())
    throw Error(joint ? "the model scores groups of alternatives, but the data has no qid: groups"
                      : "the data has qid: groups, but the model is a multiclass classifier");
  if (source.columns() > model.features) {
    throw_error("the data has {} columns, but the model has {} features", source.columns(), model.features);
  }
  if (joint) return;
  const bool has_sparse_rows = is_sparse(source);
  scores_ = make_class_scores(model, has_sparse_rows);
  if (!has_sparse_rows) device_ = DeviceHead::on_chosen_device(model);
}

OutputStream::~OutputStream() = default;

std::vector<OutputRow> OutputStream::rows_of(const Dataset& block) const {
  const uint64_t n = block.examples();
  std::vector<OutputRow> rows(n);
  const auto has_target = [&](uint64_t i) {
    return !block.target.empty() && block.target[i] != Dataset::kNoTarget;
  };
  if (scores_) {
    const ClassMoments of = device_ ? device_->moments(block.features, block.target)
                                    : class_moments(*scores_, block.features, block.target);
    for (uint64_t i = 0; i < n; ++i) {
      rows[i] = {of.rows[i], model_.classes, std::numeric_limits<double>::quiet_NaN(), false};
      if (!has_target(i)) continue;
      rows[i].is_unseen = block.target[i] == Dataset::kUnseenTarget;
      if (rows[i].is_unseen) continue;
      rows[i].target_score = of.target_score[i];
      rows[i].is_correct = of.rows[i].best == block.target[i];
    }
    return rows;
  }
  const Joint<float> joint(block.features, model_.features);
  parallel_ranges(n, kGroupsAtOnce, [&](size_t begin, size_t end) {
    for (size_t g = begin; g < end; ++g) {
      std::vector<float> scores;
      for (uint64_t a = block.group_begin[g]; a < block.group_begin[g + 1]; ++a)
        scores.push_back(static_cast<float>(joint.score(model_.weight, a)));
      rows[g] = {softmax_moments(scores.data(), scores.size()), scores.size(),
                 std::numeric_limits<double>::quiet_NaN(), false};
      if (!has_target(g)) continue;
      rows[g].target_score = static_cast<double>(scores[block.target[g]]);
      rows[g].is_correct = rows[g].moments.best == block.target[g];
    }
  });
  return rows;
}

void OutputStream::run(const std::function<void(const OutputBlock&)>& visit,
                       const std::function<void(uint64_t)>& progress) const {
  const uint64_t size = device_ ? DeviceHead::kRows : block_size(source_);
  const auto read = [&](uint64_t first) {
    return source_.block(first, std::min(source_.examples(), first + size));
  };
  std::future<Dataset> next;  // a device works while the host reads
  for (uint64_t first = 0; first < source_.examples(); first += size) {
    const Dataset block = next.valid() ? next.get() : read(first);
    if (device_ && first + size < source_.examples())
      next = std::async(std::launch::async, read, first + size);
    const std::vector<OutputRow> rows = rows_of(block);
    for (uint64_t i = 0; i < rows.size(); ++i) {
      const double log_z = rows[i].moments.log_z();
      if (std::isfinite(log_z)) continue;
      throw_error("example {} (counted from 0): log Z is {}; the features or the weights are too large",
                  source_.number(first + i), log_z);
    }
    visit({first, block, rows});
    if (progress) progress(first + rows.size());
  }
}

std::vector<double> log_normalizers(const ModelFile& model, const ExampleSource& source,
                                    const std::function<void(uint64_t)>& progress) {
  std::vector<double> out;
  out.reserve(source.examples());
  OutputStream(model, source)
      .run(
          [&](const OutputBlock& block) {
            for (const OutputRow& row : block.rows) out.push_back(row.moments.log_z());
          },
          progress);
  return out;
}

}  // namespace selfnorm
