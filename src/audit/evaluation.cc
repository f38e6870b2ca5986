#include "audit/evaluation.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/failure.h"
#include "math/parallel.h"
#include "model/normalizer_network.h"
#include "model/parameters.h"
#include "normalizer/device_head.h"
#include "normalizer/problem.h"
#include "normalizer/shard_softmax.h"
#include "objective/hierarchical.h"

namespace selfnorm {

LogZStatistics describe(std::vector<double> values) {
  LogZStatistics out;
  if (values.empty()) return out;
  const double n = static_cast<double>(values.size());
  double sum = 0, squares = 0, deviations = 0;
  for (const double v : values) {
    sum += v;
    squares += v * v;
  }
  out.mean = sum / n;
  for (const double v : values) deviations += (v - out.mean) * (v - out.mean);
  out.std = std::sqrt(deviations / n);
  out.rms = std::sqrt(squares / n);
  std::sort(values.begin(), values.end());
  const auto quantile = [&](double q) {
    const double place = q * (n - 1);
    const size_t below = static_cast<size_t>(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
  };
  out.min = values.front();
  out.max = values.back();
  out.q01 = quantile(0.01);
  out.q50 = quantile(0.5);
  out.q99 = quantile(0.99);
  return out;
}

namespace {

constexpr size_t kRowsAtOnce = 16;

double seen_rows(const Evaluation& e) { return static_cast<double>(e.n - e.unseen); }

// c + b - s_y = (A - s_y) - (A - c - b)
AmortisedEvaluation amortised(const Evaluation& exact, const AmortisedNormalizer& normalizer,
                              const Dataset& data, std::vector<double> log_z) {
  const std::vector<double> b = values_of(normalizer, data.features);
  double sum = 0;
  for (size_t i = 0; i < log_z.size(); ++i) {
    log_z[i] -= b[i];
    if (data.target[i] != Dataset::kUnseenTarget) sum += log_z[i];
  }
  return {exact.nll_exact - sum / seen_rows(exact), describe(std::move(log_z))};
}

void check_data(const ModelFile& model, const Dataset& data) {
  const bool joint = model.family == Family::Joint;
  if (joint != data.is_joint()) {
    throw Error(joint ? "the model scores groups of alternatives, but the data has no qid: groups"
                      : "the data has qid: groups, but the model is a multiclass classifier");
  }
  if (data.examples() == 0) throw Error("the data has no rows; expected at least one");
  for_each_piece(data.target, [](std::span<const uint32_t> target) {
    if (std::ranges::find(target, Dataset::kNoTarget) != target.end())
      throw Error("the data has rows without a label; evaluation needs one on every row");
  });
}

uint64_t unseen_rows(const Dataset& data) {
  uint64_t unseen = 0;
  for_each_piece(data.target, [&](std::span<const uint32_t> target) {
    unseen += static_cast<uint64_t>(std::ranges::count(target, Dataset::kUnseenTarget));
  });
  return unseen;
}

Dataset encoded(const Encoder& encoder, const Dataset& data) {
  Dataset out;
  out.features = encode(encoder, data.features);
  out.target = data.target;
  out.labels = data.labels;
  out.numbers = data.numbers;
  return out;
}

// Adds the means of all rows, from sums over parts of them.
void add_means(const std::vector<Evaluation>& sums, Evaluation& out) {
  const double n = static_cast<double>(out.n), seen = seen_rows(out);
  for (const Evaluation& part : sums) {
    out.classes = std::max(out.classes, part.classes);
    out.nll_exact += part.nll_exact / seen;
    out.nll_raw += part.nll_raw / seen;
    out.accuracy += part.accuracy / n;
    out.top5 += part.top5 / n;
    out.kl_uniform += part.kl_uniform / n;
  }
}

// A hierarchical model: log Z is 0, and raw and exact are the same.
Evaluation evaluate_tree(const ModelFile& model, const Dataset& data) {
  Evaluation out;
  out.n = data.examples();
  out.unseen = unseen_rows(data);
  out.classes = model.classes;
  std::vector<Evaluation> rows(out.n);
  parallel_ranges(out.n, kRowsAtOnce, [&](size_t begin, size_t end) {
    std::vector<double> log_prob(model.classes);
    for (size_t i = begin; i < end; ++i) {
      tree_log_probs(model, data.features.dense.row(i), log_prob);
      for (const double p : log_prob) rows[i].kl_uniform += p == -INFINITY ? 0 : std::exp(p) * p;
      rows[i].kl_uniform += std::log(static_cast<double>(model.classes));
      if (data.target[i] == Dataset::kUnseenTarget) continue;
      const double target = log_prob[data.target[i]];
      const auto better =
          std::count_if(log_prob.begin(), log_prob.end(), [target](double p) { return p > target; });
      rows[i].nll_exact = -target;
      rows[i].accuracy = better == 0 ? 1 : 0;
      rows[i].top5 = better < 5 ? 1 : 0;
    }
  });
  add_means(rows, out);
  out.nll_raw = out.nll_exact;
  if (out.n > out.unseen && !std::isfinite(out.nll_exact))
    throw Error("the score of a label is not finite; the features or the weights are too large");
  return out;
}

// visit(example, its summary): on a GPU where one was chosen and the rows are dense, else by enumeration
// here.
// Whose scores are those of the own classes of a shard; no shard: all are in the model.
struct Split {
  ClassShard shard = {};
  const ClassScores* own = nullptr;  // or those of the model
};

void summarise(const ModelFile& model, const Dataset& data, const Split& split,
               const std::function<void(uint64_t, const OutputSummary&)>& visit) {
  if (split.shard.exists()) {
    const std::vector<ShardSummary> rows =
        split.own != nullptr
            ? shard_summaries(split.shard, *split.own, data.features, data.target, ShardRanks::counted)
            : shard_summaries(split.shard, model, data.features, data.target, ShardRanks::counted);
    for (uint64_t i = 0; i < rows.size(); ++i)
      visit(i, {.score = rows[i].target,
                .log_z = rows[i].moments.log_z(),
                .log_prob = rows[i].moments.total.log_share(rows[i].target),
                .entropy = rows[i].moments.entropy(),
                .better = rows[i].better,
                .outputs = model.classes});
    return;
  }
  const bool can_be_sent = model.family == Family::Multiclass && !data.features.is_sparse;
  if (const auto device = can_be_sent ? DeviceHead::on_chosen_device(model) : nullptr) {
    const DeviceMoments of = device->moments(data.features, data.target);
    for (uint64_t i = 0; i < data.examples(); ++i) {
      const SoftmaxMoments& row = of.rows[i];
      visit(i, {.score = of.target_score[i],
                .log_z = row.log_z(),
                .log_prob = row.total.log_share(of.target_score[i]),
                .entropy = row.entropy(),
                .better = of.better[i],
                .outputs = model.classes});
    }
    return;
  }
  const std::vector<float> theta = parameters_of<float>(model);
  make_exact_pass<float>(data, model.features, model.classes, model.log_carrier)->summarise(theta, visit);
}

Evaluation evaluate_states(const ModelFile& model, const Dataset& data, const Split& split) {
  if (model.family == Family::Hierarchical) return evaluate_tree(model, data);
  Evaluation out;
  out.n = data.examples();
  out.unseen = unseen_rows(data);
  std::vector<Evaluation> parts((out.n + kGranule - 1) / kGranule);
  std::vector<double> log_z(out.n);
  summarise(model, data, split, [&](uint64_t i, const OutputSummary& row) {
    Evaluation& part = parts[i / kGranule];
    part.classes = std::max(part.classes, row.outputs);
    part.kl_uniform += std::log(static_cast<double>(row.outputs)) - row.entropy;
    log_z[i] = row.log_z - model.log_normalizer;
    if (data.target[i] == Dataset::kUnseenTarget) return;
    part.nll_exact -= row.log_prob;
    part.nll_raw += model.log_normalizer - row.score;
    part.accuracy += row.better == 0 ? 1 : 0;
    part.top5 += row.better < 5 ? 1 : 0;
  });
  for (uint64_t i = 0; i < out.n; ++i) {
    if (!std::isfinite(log_z[i])) {
      throw_error("row {} (counted from 0): log Z is {}; the features or the weights are too large",
                  data.numbers[i], log_z[i]);
    }
  }
  add_means(parts, out);
  if (out.n > out.unseen && (!std::isfinite(out.nll_exact) || !std::isfinite(out.nll_raw))) {
    throw Error("the score of a label is not finite; the features, the weights or log h are too large");
  }
  if (model.normalizer.exists()) out.amortised = amortised(out, model.normalizer, data, log_z);
  out.log_z = describe(std::move(log_z));
  return out;
}

Evaluation evaluate(const ModelFile& model, const Split& split, const Dataset& data, int threads) {
  const ThreadLimit limit(threads);
  check_data(model, data);
  if (model.encoder.exists()) return evaluate_states(model, encoded(model.encoder, data), split);
  return evaluate_states(model, data, split);
}

}  // namespace

Evaluation evaluate(const ModelFile& model, const Dataset& data, int threads) {
  return evaluate(model, Split{}, data, threads);
}

Evaluation evaluate(const ModelFile& own, const ClassShard& shard, const Dataset& data, int threads) {
  return evaluate(own, Split{shard}, data, threads);
}

Evaluation evaluate(const MappedModel& model, const Dataset& data, int threads) {
  const ClassShard shard(model.model().classes);
  const auto own = make_class_scores(model, shard.own());
  return evaluate(model.model(), Split{shard, own.get()}, data, threads);
}

}  // namespace selfnorm
