// How a classifier comes to be from rows in memory.
#include <algorithm>
#include <optional>
#include <set>

#include "api/classifier_content.h"
#include "api/rows.h"
#include "api/training_options.h"
#include "base/failure.h"
#include "base/option_table.h"
#include "family/classifier/choice.h"
#include "family/classifier/network/classifier_rows.h"
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
  ClassifierRows rows{std::move(learned.data), std::nullopt, std::move(learned.text)};
  check_encoder(options.encoder, rows.train);
  if (const double part = held_out_part(rows.train, options, run); part > 0)
    hold_out_rows(rows, part, options);
  EncoderPlan plan = bag_plan(rows);
  if (const std::string note = take_embeddings(rows, options.encoder, plan); !note.empty())
    observer_of(run).on_note(note);
  std::optional<Dataset> held_out = rows.valid;
  const uint64_t examples = rows.train.examples();
  return {train_rows(std::move(rows), std::move(plan), options, run.checkpoint, observer_of(run)),
          std::move(held_out), examples};
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
  Trained found = trained(std::move(learned), options.training, run);
  check_ending(found.result, run);
  ModelFile& model = found.result.model;
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
