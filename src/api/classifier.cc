#include "selfnorm/classifier.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "api/rows.h"
#include "audit/evaluation.h"
#include "base/failure.h"
#include "base/option_table.h"
#include "data/example_source.h"
#include "data/string_index.h"
#include "family/classifier/trainer.h"
#include "math/parallel.h"
#include "model/class_scores.h"
#include "objective/registry.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {

struct Classifier::Content {
  ModelFile model;
};

namespace {

constexpr uint64_t kRowsAtOnce = 64;

Features features_of(const Rows& x) {
  check_rows(x);
  Features out;
  out.is_sparse = false;
  out.dense = {x.rows(), x.columns, {x.values.begin(), x.values.end()}};
  return out;
}

// Labels that are not among `known` are unseen.
Dataset dataset_of(const Rows& x, const std::vector<std::string>& labels, std::vector<std::string> known) {
  check_rows(x);
  if (labels.size() != x.rows())
    throw_error("found {} labels for {} rows; expected one a row", labels.size(), x.rows());
  Dataset out;
  out.features = features_of(x);
  out.labels = std::move(known);
  const StringIndex index(out.labels);
  for (const std::string& label : labels)
    out.target.push_back(index.find(label).value_or(Dataset::kUnseenTarget));
  return out;
}

// Scores of all classes: visit(row, scores).
void for_scores(const ModelFile& model, const Rows& x,
                const std::function<void(uint64_t, std::span<const float>)>& visit) {
  if (x.columns != model.features)
    throw_error("found rows of {} numbers; the classifier was trained on {}", x.columns, model.features);
  const Features features = features_of(x);
  const auto scores = make_class_scores(model, false);
  parallel_ranges(x.rows(), kRowsAtOnce, [&](uint64_t begin, uint64_t end) {
    std::vector<float> tile((end - begin) * model.classes);
    scores->tile(features, {begin, end}, {0, model.classes}, tile.data());
    for (uint64_t row = begin; row < end; ++row)
      visit(row, std::span(tile).subspan((row - begin) * model.classes, model.classes));
  });
}

}  // namespace

Classifier Classifier::train(const Rows& x, const std::vector<std::string>& labels, const Options& options) {
  TrainObserver silent;
  return train(x, labels, options, silent);
}

Classifier Classifier::train(const Rows& x, const std::vector<std::string>& labels, const Options& given,
                             TrainObserver& observer) {
  TrainOptions options;
  train_option_table("classifier", options).set(given);
  options.validate();
  const EncoderOptions& encoder = options.encoder;
  if (encoder.is_network() || encoder.hidden > 0 || !encoder.embeddings.empty())
    throw Error("encoder, hidden and embeddings are of sparse data; expected none of them for dense rows");
  std::vector<std::string> known = labels;
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  if (known.size() < 2) throw_error("found {} classes; expected at least two", known.size());
  Dataset data = dataset_of(x, labels, std::move(known));
  std::optional<Dataset> valid;
  if (const double part =
          default_hold_out(data.examples(), objective_entry(options.objective.name).is_constraint);
      part > 0) {
    auto [train, held_out] = hold_out(data, part, options.seed);
    data = std::move(train);
    valid = std::move(held_out);
  }
  TrainResult result = train_classifier(std::move(data), std::move(valid), options, {}, observer);
  check_ending(result, observer);
  round_as_stored(result.model);
  return Classifier(std::make_shared<Content>(Content{std::move(result.model)}));
}

Classifier Classifier::load(const std::string& path) {
  ModelFile model = load_model(model_file_of(path));
  if (model.family != Family::Multiclass || model.input != ModelInput::Dense)
    throw_error("{}: expected a classifier of dense rows; other models are opened by the program", path);
  return Classifier(std::make_shared<Content>(Content{std::move(model)}));
}

void Classifier::save(const std::string& path) const { save_model(content_->model, path); }

const std::vector<std::string>& Classifier::labels() const { return content_->model.labels; }

std::vector<double> Classifier::log_probabilities(const Rows& x) const {
  const uint32_t classes = content_->model.classes;
  std::vector<double> out(x.rows() * classes);
  for_scores(content_->model, x, [&](uint64_t row, std::span<const float> scores) {
    LogSumExp z;
    for (const float s : scores) z.add(s);
    for (uint32_t k = 0; k < classes; ++k) out[row * classes + k] = z.log_share(scores[k]);
  });
  return out;
}

std::vector<double> Classifier::raw_log_probabilities(const Rows& x) const {
  const uint32_t classes = content_->model.classes;
  std::vector<double> out(x.rows() * classes);
  for_scores(content_->model, x, [&](uint64_t row, std::span<const float> scores) {
    for (uint32_t k = 0; k < classes; ++k)
      out[row * classes + k] = scores[k] - content_->model.log_normalizer;
  });
  return out;
}

std::vector<std::string> Classifier::predict(const Rows& x) const {
  std::vector<std::string> out(x.rows());
  for_scores(content_->model, x, [&](uint64_t row, std::span<const float> scores) {
    out[row] = labels()[static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin())];
  });
  return out;
}

ClassifierQuality Classifier::evaluate(const Rows& x, const std::vector<std::string>& given) const {
  const Evaluation found = selfnorm::evaluate(content_->model, dataset_of(x, given, labels()));
  return {.rows = found.n,
          .accuracy = found.accuracy,
          .nll_exact = found.nll_exact,
          .nll_raw = found.nll_raw,
          .log_z_rms = found.log_z.rms};
}

}  // namespace selfnorm
