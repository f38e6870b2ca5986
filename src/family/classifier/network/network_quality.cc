#include "family/classifier/network/network_quality.h"

#include <algorithm>
#include <cmath>

#include "family/classifier/network/network_trainer.h"
#include "math/random.h"
#include "model/class_scores.h"
#include "model/normalizer_network.h"
#include "normalizer/class_moments.h"
#include "objective/tree_model.h"

namespace selfnorm {
namespace {

constexpr uint64_t kValidationSampleStream = 0x76616c6964;  // "valid"

}  // namespace

NetworkQuality network_quality(const ModelFile& model, const ExampleBatch& x) {
  const Features state = encode(model.encoder, x.rows);
  const bool has_tree = model.family == Family::Hierarchical;
  ClassMoments moments;
  std::vector<double> b(x.target.size());
  if (!has_tree) moments = class_moments(*make_class_scores(model, false), state, x.target);
  if (model.normalizer.exists()) b = values_of(model.normalizer, state);
  NetworkQuality sum;
  double weight = 0;
  for (size_t i = 0; i < x.target.size(); ++i) {
    const double w = x.weight.empty() ? 1 : static_cast<double>(x.weight[i]);
    const double a = has_tree ? 0 : moments.rows[i].log_z();
    weight += w;
    sum.nll +=
        w * (has_tree ? path_nll(model, state.dense.row(i), x.target[i]) : a - moments.target_score[i]);
    sum.log_z += w * (a - b[i]);
    sum.log_z_square += w * (a - b[i]) * (a - b[i]);
  }
  return {sum.nll / weight, sum.log_z / weight, sum.log_z_square / weight};
}

ExampleBatch validation_examples(const ExampleFeed* valid, uint64_t seed) {
  ExampleBatch out;
  if (valid == nullptr) return out;
  std::vector<uint64_t> chosen =
      random_permutation(valid->examples(), RandomStream(seed, kValidationSampleStream));
  chosen.resize(std::min<size_t>(chosen.size(), kValidationExamples));
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
