#include "selfnorm/train/network_validation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "selfnorm/math/random.h"
#include "selfnorm/model/class_scores.h"
#include "selfnorm/model/normalizer_network.h"
#include "selfnorm/normalizer/class_moments.h"
#include "selfnorm/objective/tree_model.h"
#include "selfnorm/train/network_trainer.h"

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

NetworkValidation::NetworkValidation(const ExampleFeed* valid, const TrainOptions& options)
    : alpha_(options.objective.name == "penalty" ? options.objective.alpha : 0),
      calibrate_(options.calibrate && options.objective.name != "exact" &&
                 options.objective.name != "hierarchical" && !options.objective.centre),
      patience_(options.patience) {
  if (valid == nullptr) return;
  std::vector<uint64_t> chosen =
      random_permutation(valid->examples(), RandomStream(options.seed, kValidationSampleStream));
  chosen.resize(std::min<size_t>(chosen.size(), kValidationExamples));
  std::sort(chosen.begin(), chosen.end());
  valid->gather(chosen, examples_);
}

bool NetworkValidation::check(const ModelFile& model, ModelFile& spare, Progress& progress) {
  const NetworkQuality q = network_quality(model, examples_);
  last_centre_ = calibrate_ ? q.log_z : model.log_normalizer;
  const double square =
      std::max(0.0, q.log_z_square - 2 * last_centre_ * q.log_z + last_centre_ * last_centre_);
  progress.valid_nll = q.nll;
  progress.valid_log_z_rms = std::sqrt(square);
  const double criterion = q.nll + alpha_ * square;
  if (patience_ == 0 || !std::isfinite(criterion)) return false;
  if (!has_kept_ || criterion < best_) {
    best_ = criterion;
    best_centre_ = last_centre_;
    if (!has_kept_) kept_ = std::exchange(spare, {});
    kept_ = model;
    has_kept_ = true;
    since_best_ = 0;
    return false;
  }
  return ++since_best_ >= patience_;
}

bool NetworkValidation::conclude(ModelFile& model, bool is_last) const {
  if (has_kept_) model = kept_;
  const double centre = has_kept_ ? best_centre_ : last_centre_;
  if (!calibrates() || !std::isfinite(centre) || !(has_kept_ || is_last)) return false;
  model.log_normalizer = centre;
  return true;
}

bool NetworkValidation::is_worse_than_frequencies(std::span<const uint64_t> counts) const {
  if (!has_kept_) return false;
  double total = static_cast<double>(counts.size()), sum = 0, weight = 0;
  for (const uint64_t n : counts) total += static_cast<double>(n);
  for (size_t i = 0; i < examples_.target.size(); ++i) {
    const double w = examples_.weight.empty() ? 1 : static_cast<double>(examples_.weight[i]);
    sum -= w * std::log(static_cast<double>(counts[examples_.target[i]] + 1) / total);
    weight += w;
  }
  return best_ > sum / weight;
}

void save_parameters(const std::string& prefix, const ModelFile& model, Checkpoint& c) {
  c.set(prefix + "embedding", model.encoder.embedding);
  c.set(prefix + "hidden_weight", model.encoder.hidden_weight);
  c.set(prefix + "hidden_bias", model.encoder.hidden_bias);
  c.set(prefix + "weight", model.weight);
  c.set(prefix + "bias", model.bias);
  c.set(prefix + "log_normalizer", model.log_normalizer);
  c.set(prefix + "normalizer.intercept", model.normalizer.intercept);
  c.set(prefix + "normalizer.slope", model.normalizer.slope);
  c.set(prefix + "normalizer.hidden_weight", model.normalizer.hidden_weight);
  c.set(prefix + "normalizer.hidden_bias", model.normalizer.hidden_bias);
  c.set(prefix + "normalizer.output", model.normalizer.output);
}

void restore_parameters(const std::string& prefix, const Checkpoint& c, ModelFile& model) {
  c.get(prefix + "embedding", model.encoder.embedding);
  c.get(prefix + "hidden_weight", model.encoder.hidden_weight);
  c.get(prefix + "hidden_bias", model.encoder.hidden_bias);
  c.get(prefix + "weight", model.weight);
  c.get(prefix + "bias", model.bias);
  model.log_normalizer = c.number(prefix + "log_normalizer");
  model.normalizer.intercept = c.number(prefix + "normalizer.intercept");
  c.get(prefix + "normalizer.slope", model.normalizer.slope);
  c.get(prefix + "normalizer.hidden_weight", model.normalizer.hidden_weight);
  c.get(prefix + "normalizer.hidden_bias", model.normalizer.hidden_bias);
  c.get(prefix + "normalizer.output", model.normalizer.output);
}

void NetworkValidation::save(Checkpoint& c) const {
  c.set("valid.best", best_);
  c.set("valid.best_centre", best_centre_);
  c.set("valid.last_centre", last_centre_);
  c.set("valid.since_best", since_best_);
  c.set("valid.kept", uint64_t{has_kept_});
  if (has_kept_) save_parameters("valid.kept.", kept_, c);
}

void NetworkValidation::restore(const Checkpoint& c, const ModelFile& like) {
  best_ = c.number("valid.best");
  best_centre_ = c.number("valid.best_centre");
  last_centre_ = c.number("valid.last_centre");
  since_best_ = c.integer("valid.since_best");
  has_kept_ = c.integer("valid.kept") != 0;
  if (!has_kept_) return;
  kept_ = like;
  restore_parameters("valid.kept.", c, kept_);
}

}  // namespace selfnorm
