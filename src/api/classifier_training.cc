// How a classifier comes to be from rows in memory.
#include <algorithm>
#include <optional>
#include <set>

#include "api/classifier_content.h"
#include "api/classifier_options.h"
#include "api/rows.h"
#include "base/former_names.h"
#include "data/corpus/word_vocabulary.h"
#include "family/classifier/choice.h"
#include "family/classifier/network/network_trainer.h"
#include "family/classifier/trainer.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

double held_out_part(const Dataset& data, const TrainOptions& options, const Run& run) {
  return hold_out_share(
      run, default_hold_out(data.examples(), objective_entry(options.objective.name).is_constraint));
}

struct Trained {
  TrainResult result;
  std::optional<Dataset> held_out;
  uint64_t examples = 0;  // trained on
};

Trained trained(LearnedInputs learned, const TrainOptions& options, const Run& run) {
  Dataset& data = learned.data;
  const EncoderOptions& encoder = options.encoder;
  if (!encoder.embeddings.empty() && !encoder.is_network())
    throw_error("{} needs {}", option_name("embeddings"), option_text("encoder", "bag"));
  const bool is_sparse = data.features.is_sparse;
  if (encoder.kind != "auto" && (encoder.kind == "identity") == is_sparse)
    throw_error("{}: expected {} rows, found {} ones", option_text("encoder", encoder.kind),
                is_sparse ? "dense" : "sparse", is_sparse ? "sparse" : "dense");
  if (!encoder.is_network() && encoder.hidden > 0)
    throw_error("{} belongs to {}, found {}; leave it out or change that", option_name("hidden"),
                option_text("encoder", "bag"), option_text("encoder", encoder.kind));
  std::optional<Dataset> valid;
  if (const double part = held_out_part(data, options, run); part > 0) {
    auto [train, held_out] = hold_out(data, part, options.seed);
    data = std::move(train);
    valid = std::move(held_out);
  }
  const uint64_t examples = data.examples();
  if (!encoder.is_network()) {
    std::optional<Dataset> judging = valid;
    return {train_classifier(std::move(data), std::move(judging), options, run.checkpoint, observer_of(run)),
            std::move(valid), examples};
  }
  if (valid && learned.text && !learned.text->vocabulary().empty()) {
    // What is held out must meet unknown words as new texts will.
    const std::vector<uint32_t> used = used_columns(data.features.sparse);
    keep_columns(used, data);
    keep_columns(used, *valid);
    learned.text = with_words(*learned.text, used);
  }
  apply_class_weight(options.class_weight, data, valid ? &*valid : nullptr);
  EncoderPlan plan;
  plan.inputs = data.features.columns();
  plan.classes = data.classes();
  plan.examples = data.examples();
  if (!encoder.embeddings.empty()) {
    if (!learned.text || learned.text->vocabulary().empty())
      throw_error("{} are found by word; expected texts with a vocabulary (no {})", option_name("embeddings"),
                  option_name("hash-buckets"));
    plan.embedding =
        read_word_vectors(encoder.embeddings, StringIndex(learned.text->vocabulary()), encoder.dimension)
            .values;
  }
  std::optional<BagFeed> judges;
  if (valid) judges.emplace(*valid);
  TrainResult out = train_network(BagFeed(data), judges ? &*judges : nullptr, std::move(plan), options,
                                  run.checkpoint, observer_of(run));
  out.model.input = ModelInput::Sparse;
  out.model.labels = data.labels;
  out.model.feature_names = data.feature_names;
  if (learned.text) store_text(*learned.text, out.model);
  return {std::move(out), std::move(valid), examples};
}

// As training on the command line ends.
void add_ladder(const ClassifierOptions& options, Trained& from) {
  ModelFile& model = from.result.model;
  if (options.ladder.no_ladder || !from.held_out || model.family != Family::Multiclass) return;
  std::unique_ptr<ExampleSource> inputs = make_example_source(std::move(*from.held_out));
  if (model.encoder.exists()) inputs = bag_states(model.encoder, std::move(inputs));
  model.ladder = fit_ladder(model, *inputs,
                            ladder_after(options.training, from.examples, model,
                                         options.ladder.options(options.training.seed)))
                     .ladder;
}

// Whether an option is among those given, by any of its names.
IsGiven given_in(const Options& given, OptionTable& table) {
  std::set<std::string> names;
  const auto exists = [&table](const std::string& name) { return table.find(name) != nullptr; };
  for (const auto& [name, value] : given) {
    std::string dashed = name;
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    const std::string now = present_name(dashed, exists);
    names.insert(now.empty() ? dashed : now);
  }
  return [names](const std::string& name) { return names.contains(name); };
}

}  // namespace

Classifier Classifier::train(const Inputs& x, const Labels& labels, const Options& given, const Run& run) {
  ClassifierOptions options;
  OptionTable table = classifier_option_table(options);
  table.set(given);
  options.training.validate();
  options.text.validate();
  training_ladder_option_table(options.ladder).validate();
  LearnedInputs learned = learn_inputs(x, labels, run.weights, options.text);
  if (const IsGiven is_given = given_in(given, table); !is_decided(is_given)) {
    const bool has_pieces =
        take_pieces(learned, options.text, is_given, options.training,
                    [&](const TextOptions& text) { return learn_inputs(x, labels, run.weights, text); });
    const bool has_held_out = held_out_part(learned.data, options.training, run) > 0;
    observer_of(run).on_note(
        choose_training(learned.data, has_held_out, is_given, options.training, has_pieces).note);
  }
  const std::optional<TextEncoder> text = learned.text;
  Trained found = trained(std::move(learned), options.training, run);
  check_ending(found.result, run);
  ModelFile& model = found.result.model;
  if (text && !options.training.encoder.is_network()) store_text(*text, model);
  round_as_stored(model);
  add_ladder(options, found);
  return Classifier(std::make_shared<Content>(std::move(model)));
}

Classifier Classifier::train_part(const Classifier* before, const Inputs& x, const Labels& labels,
                                  const Options& given, std::span<const float> weights) {
  ClassifierOptions options;
  OptionTable table = classifier_option_table(options);
  table.set(given);
  if (x.texts() != nullptr)
    throw Error(
        "found texts; training by parts is of rows of numbers: the words and their weights are those of all "
        "texts");
  if (!is_decided(given_in(given, table))) options.training.objective.name = "exact";
  if (before != nullptr && before->content_->is_bag())
    throw Error("the model has an encoder; training by parts is for models without one");
  if (before != nullptr && before->content_->text)
    throw Error("the model was trained on texts; training by parts is of rows of numbers");
  if (before != nullptr && labels.names != before->labels())
    throw_error("found {} classes, others than the {} of the model; expected the same in the same order",
                labels.names.size(), before->labels().size());
  const uint32_t found = x.dense() ? x.dense()->columns() : x.sparse()->columns;
  const uint32_t columns = before == nullptr ? found : before->columns();
  const Dataset rows = labelled_rows(x, columns, labels, weights);
  OngoingTraining ongoing;
  if (before != nullptr)
    ongoing =
        before->content_->ongoing ? *before->content_->ongoing : ongoing_training(before->content_->model);
  ModelFile model = selfnorm::train_part(rows, options.training, ongoing);
  round_as_stored(model);
  auto content = std::make_shared<Content>(std::move(model));
  content->ongoing = std::make_shared<OngoingTraining>(std::move(ongoing));
  return Classifier(std::move(content));
}

}  // namespace selfnorm
