#include "family/classifier/minibatch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace selfnorm {
namespace {

constexpr uint32_t kUnused = std::numeric_limits<uint32_t>::max();

}  // namespace

MinibatchMaker::MinibatchMaker(const Dataset& data) : data_(data) {
  if (data.features.is_sparse && !data.is_joint()) local_.assign(data.features.columns(), kUnused);
}

Minibatch MinibatchMaker::make(std::span<const uint64_t> examples) {
  Minibatch batch;
  batch.data = unnamed_subset(data_, examples);
  if (local_.empty()) return batch;
  SparseMatrix& x = batch.data.features.sparse;
  for (const uint32_t feature : x.column) {
    if (local_[feature] == kUnused) {
      local_[feature] = 0;
      batch.map.feature.push_back(feature);
    }
  }
  std::sort(batch.map.feature.begin(), batch.map.feature.end());
  for (uint32_t j = 0; j < batch.map.feature.size(); ++j) local_[batch.map.feature[j]] = j;
  for (uint32_t& column : x.column.own()) column = local_[column];
  for (const uint32_t feature : batch.map.feature) local_[feature] = kUnused;
  x.columns = static_cast<uint32_t>(batch.map.feature.size());
  return batch;
}

void drop_inputs(double share, RandomStream random, Features& x) {
  if (share == 0) return;
  const auto kept = static_cast<float>(1 / (1 - share));
  for (float& v : x.is_sparse ? x.sparse.value.own() : x.dense.values)
    v *= random.uniform() < share ? 0 : kept;
}

std::vector<uint64_t> class_counts(const Dataset& data) {
  std::vector<uint64_t> count(data.classes());
  for_each_piece(data.target, [&](std::span<const uint32_t> target) {
    for (const uint32_t y : target) ++count[y];
  });
  return count;
}

double mean_weight(const Dataset& data) {
  if (data.weight.empty()) return 1;
  double sum = 0;
  for (const float w : data.weight) sum += static_cast<double>(w);
  return sum / static_cast<double>(data.examples());
}

double row_norm(const Features& x) {
  double squares = 0;
  const auto add = [&squares](std::span<const float> values) {
    for (const float v : values) squares += static_cast<double>(v) * static_cast<double>(v);
  };
  if (x.is_sparse)
    for_each_piece(x.sparse.value, add);
  else
    add(x.dense.values);
  return squares > 0 ? std::sqrt(squares / static_cast<double>(x.rows())) : 1;
}

std::vector<double> touch_probability(const Dataset& data, uint64_t batch) {
  if (!data.features.is_sparse || data.is_joint()) return {};
  std::vector<double> probability(data.features.columns());
  for_each_piece(data.features.sparse.column, [&](std::span<const uint32_t> columns) {
    for (const uint32_t column : columns) probability[column] += 1;
  });
  const double n = static_cast<double>(data.features.rows());
  for (double& p : probability) p = 1 - std::pow(1 - p / n, static_cast<double>(batch));
  return probability;
}

void report_sum(const LossSum& sum, Progress& progress) {
  if (sum.weight > 0) {
    progress.loss += sum.mean_loss();
    progress.penalty = sum.penalty / sum.weight;
  }
  if (sum.normalised_weight > 0) {
    progress.nll = sum.mean_nll();
    progress.log_z_rms = sum.rms_log_z();
  }
  if (sum.estimated_weight > 0) {
    progress.log_ratio = sum.mean_log_ratio();
    progress.effective_samples = sum.mean_effective();
  }
}

void sum_state(LossSum& sum, CheckpointFields& fields) {
  LossSum& s = sum;
  std::vector<double> v{s.weight,   s.likelihood,   s.penalty,  s.normalised_weight, s.nll,
                        s.log_z,    s.log_z_square, s.d_centre, s.estimated_weight,  s.log_ratio,
                        s.effective};
  fields("epoch_sum", v);
  s = {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10]};
}

}  // namespace selfnorm
