#include <algorithm>
#include <cmath>
#include <limits>

#include "base/grouped.h"
#include "data/corpus/word_vocabulary.h"
#include "family/classifier/network/network_trainer.h"
#include "family/classifier/options.h"
#include "math/random.h"
#include "model/class_scores.h"
#include "model/huffman.h"
#include "model/normalizer_network.h"
#include "normalizer/class_moments.h"
#include "normalizer/shard_softmax.h"
#include "objective/hierarchical.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kStartStream = 0x7374617274;  // "start"

void fill_uniform(double half_width, RandomStream& random, std::span<float> values) {
  for (float& v : values) v = static_cast<float>(half_width * (2 * random.uniform() - 1));
}

std::vector<uint64_t> added_one(std::span<const uint64_t> counts) {
  std::vector<uint64_t> out(counts.begin(), counts.end());
  for (uint64_t& n : out) ++n;
  return out;
}

// Of these classes.
std::vector<float> log_frequencies(std::span<const uint64_t> counts, Range classes) {
  double total = 0;
  for (const uint64_t n : counts) total += static_cast<double>(n + 1);
  std::vector<float> out;
  for (const uint64_t n : counts.subspan(classes.begin, classes.size()))
    out.push_back(static_cast<float>(std::log(static_cast<double>(n + 1) / total)));
  return out;
}

// log (count of the right subtree / count of the left one) for every inner node.
std::vector<float> log_odds(std::span<const uint32_t> tree, std::span<const uint64_t> counts) {
  std::vector<double> mass(tree.size()), side[2];
  for (auto& s : side) s.resize(counts.size() - 1);
  for (size_t k = 0; k < counts.size(); ++k) mass[k] = static_cast<double>(counts[k]);
  for (size_t node = 0; node + 1 < tree.size(); ++node) {  // parents come after children
    side[tree[node] % 2][tree[node] / 2] = mass[node];
    mass[counts.size() + tree[node] / 2] += mass[node];
  }
  std::vector<float> out;
  for (size_t j = 0; j < side[0].size(); ++j)
    out.push_back(static_cast<float>(std::log(side[1][j] / side[0][j])));
  return out;
}

constexpr uint64_t kValidationSampleStream = 0x76616c6964;  // "valid"

}  // namespace

std::string take_embeddings(const EncoderOptions& encoder, const StringIndex& words, EncoderPlan& plan) {
  if (encoder.embeddings.empty()) return {};
  WordVectors vectors = read_word_vectors(encoder.embeddings, words, encoder.dimension);
  plan.embedding = std::move(vectors.values);
  plan.embedding.resize(size_t{plan.inputs} * encoder.dimension, std::numeric_limits<float>::quiet_NaN());
  return fmt::format("{}: embeddings of {} of {} words", encoder.embeddings, grouped(vectors.found),
                     grouped(words.size()));
}

ModelFile starting_network(EncoderPlan plan, const TrainOptions& options, std::span<const uint64_t> given,
                           const ClassShard& shard) {
  SELFNORM_CHECK(given.size() == plan.classes);
  RandomStream random(options.seed, kStartStream);
  ModelFile model;
  Encoder& encoder = model.encoder;
  encoder.kind = plan.kind;
  encoder.inputs = plan.inputs;
  encoder.width = options.encoder.dimension;
  encoder.positions = plan.positions;
  encoder.hidden_bias.resize(options.encoder.hidden);
  encoder.hidden_weight.resize(size_t{encoder.hidden()} * encoder.pooled());
  encoder.embedding.resize(size_t{plan.inputs} * encoder.width);
  fill_uniform(plan.kind == EncoderKind::Bag ? 1.0 / encoder.width : 0.5, random, encoder.embedding);
  fill_uniform(std::sqrt(6.0 / (encoder.pooled() + encoder.hidden())), random, encoder.hidden_weight);
  SELFNORM_CHECK(plan.embedding.empty() || plan.embedding.size() == encoder.embedding.size());
  for (size_t i = 0; i < plan.embedding.size(); ++i)
    if (!std::isnan(plan.embedding[i])) encoder.embedding[i] = plan.embedding[i];

  const bool has_tree = objective_entry(options.objective.name).seam == ObjectiveSeam::tree;
  model.family = has_tree ? Family::Hierarchical : Family::Multiclass;
  model.input = plan.kind == EncoderKind::Context ? ModelInput::Context : ModelInput::Sparse;
  model.weights = weight_kind(options.weights);
  model.classes = plan.classes;
  model.features = encoder.states();
  model.log_carrier = options.log_carrier;
  const Range own = shard.exists() ? shard.own() : Range{0, plan.classes};
  if (has_tree) {
    const std::vector<uint64_t> counts = added_one(given);
    model.tree = huffman_tree(counts);
    model.bias = log_odds(model.tree, counts);
  } else {
    model.bias = log_frequencies(given, own);
  }
  for (size_t k = 0; k < model.log_carrier.size(); ++k) model.bias[k] -= model.log_carrier[k];
  model.weight.resize(model.bias.size() * model.features);
  return model;
}

NetworkQuality network_quality(const ModelFile& model, const ExampleBatch& x, const ClassShard& shard) {
  const Features state = encode(model.encoder, x.rows);
  const bool has_tree = model.family == Family::Hierarchical;
  std::vector<double> b(x.target.size()), log_z(x.target.size()), target_score(x.target.size());
  if (shard.exists()) {
    const std::vector<ShardSummary> sums =
        shard_summaries(shard, model, state, x.target, ShardRanks::left_out);
    for (size_t i = 0; i < sums.size(); ++i) {
      log_z[i] = sums[i].moments.log_z();
      target_score[i] = sums[i].target;
    }
  } else if (!has_tree) {
    ClassMoments moments = class_moments(*make_class_scores(model, false), state, x.target);
    for (size_t i = 0; i < log_z.size(); ++i) log_z[i] = moments.rows[i].log_z();
    target_score = std::move(moments.target_score);
  }
  if (model.normalizer.exists()) b = values_of(model.normalizer, state);
  NetworkQuality sum;
  double weight = 0;
  for (size_t i = 0; i < x.target.size(); ++i) {
    const double w = x.weight.empty() ? 1 : static_cast<double>(x.weight[i]);
    const double a = log_z[i];
    weight += w;
    sum.nll += w * (has_tree ? path_nll(model, state.dense.row(i), x.target[i]) : a - target_score[i]);
    sum.log_z += w * (a - b[i]);
    sum.log_z_square += w * (a - b[i]) * (a - b[i]);
  }
  return {sum.nll / weight, sum.log_z / weight, sum.log_z_square / weight};
}

ExampleBatch validation_examples(const ExampleFeed* valid, uint64_t seed, uint64_t rows) {
  ExampleBatch out;
  if (valid == nullptr) return out;
  std::vector<uint64_t> chosen =
      random_permutation(valid->examples(), RandomStream(seed, kValidationSampleStream));
  chosen.resize(std::min<size_t>(chosen.size(), rows));
  std::sort(chosen.begin(), chosen.end());
  valid->gather(chosen, out);
  return out;
}

double frequency_nll(const ExampleBatch& examples, std::span<const uint64_t> counts) {
  double total = static_cast<double>(counts.size()), sum = 0, weight = 0;
  for (const uint64_t n : counts) total += static_cast<double>(n);
  for (size_t i = 0; i < examples.target.size(); ++i) {
    const double w = examples.weight.empty() ? 1 : static_cast<double>(examples.weight[i]);
    sum -= w * std::log(static_cast<double>(counts[examples.target[i]] + 1) / total);
    weight += w;
  }
  return sum / weight;
}

}  // namespace selfnorm
