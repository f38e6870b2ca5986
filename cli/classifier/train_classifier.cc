#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/failure.h"
#include "base/interruption.h"
#include "base/memory.h"
#include "classifier/evaluation_report.h"
#include "classifier/ladder_report.h"
#include "classifier/model_header.h"
#include "commands.h"
#include "data/dataset_cache.h"
#include "data/example_source.h"
#include "data/input/source.h"
#include "data/plausible.h"
#include "data/text/text_encoder.h"
#include "engine/minibatches.h"
#include "family/classifier/choice.h"
#include "family/classifier/loop.h"
#include "family/classifier/network/classifier_rows.h"
#include "grammar/option_list.h"
#include "model/encoder.h"
#include "model/safetensors_writer.h"
#include "objective/registry.h"
#include "output.h"
#include "run/model_document.h"
#include "run/reading_note.h"
#include "run/run_record.h"
#include "run/training_run.h"

namespace selfnorm::cli {
namespace {

struct TrainingData {
  ClassifierRows rows;
  std::optional<Dataset> unlabelled;
  std::vector<uint64_t> held_out;  // numbers, in the file, of the rows held out
  std::optional<TableEncoder> table;
  std::string target;              // column of a table
  std::vector<std::string> notes;  // held until all inputs are known to be good
  std::vector<std::pair<std::string, ReadReport>> reports;
  nlohmann::ordered_json record, valid_record;

  // The trainer measures the likelihood of validation data, so it gets those that have one.
  bool has_unseen() const { return reports.back().second.unseen.examples > 0; }
};

void check_classifier_options(const Arguments& arguments) {
  const TrainArguments& given = arguments.train;
  if (given.train.empty()) throw Error("train classifier needs TRAIN, a file of labelled data");
  given.options.validate();
  if (!given.valid_labels.empty() && given.valid.empty()) throw Error("--valid-labels needs --valid");
  if (objective_entry(given.options.objective.name).seam == ObjectiveSeam::tree &&
      !given.options.encoder.is_network())
    throw Error("--objective hierarchical needs --encoder bag");
  arguments.reader.options.validate();
}

Schema schema_of(const TrainingData& data) {
  return {.labels = data.rows.train.labels,
          .feature_count = data.rows.train.features.columns(),
          .feature_names = data.rows.train.feature_names,
          .text = data.rows.text,
          .target = data.target,
          .is_joint = data.rows.train.is_joint(),
          .table = data.table};
}

Dataset read_unlabelled(const Arguments& arguments, TrainingData& data) {
  const Schema schema = schema_of(data);
  ReadOptions options = arguments.reader.options;
  options.schema = &schema;
  options.labels_path = {};
  options.keep_unseen = true;
  options.require_labels = false;
  options.text_columns = options.categorical = options.dropped = {};
  ReadResult read = read_dataset(arguments.train.unlabelled, options);
  data.notes.push_back("unlabelled: " + reading_text(arguments.train.unlabelled, read));
  return std::move(read.data);
}

Dataset read_valid(const Arguments& arguments, TrainingData& data) {
  const Schema schema = schema_of(data);
  ReadOptions options = arguments.reader.options;
  options.schema = &schema;
  options.labels_path = arguments.train.valid_labels;
  options.keep_unseen = true;
  options.text_columns = options.categorical = options.dropped = {};
  ReadResult read = read_dataset(arguments.train.valid, options);
  if (read.report.unseen.examples == read.data.examples())
    throw_error(
        "{}: found the label '{}', which {} does not have, and others in all rows; expected validation data "
        "with the labels of the training data",
        arguments.train.valid, shown_label(read.report.unseen.label), arguments.train.train);
  data.notes.push_back("validation: " + reading_text(arguments.train.valid, read));
  data.reports.emplace_back(arguments.train.valid, std::move(read.report));
  return std::move(read.data);
}

constexpr double kMostOfMemory = 0.5;
constexpr uint64_t kMostResident = uint64_t{3} << 29;  // pages of files

constexpr const char* kAdvice =
    "use fewer features (a smaller largest index; text: --min-count 2, --hash-buckets, --max-vocabulary) or "
    "classes, or --encoder bag";

// Known to fail, so before anything is said or made.
void check_classes(const Dataset& data, const TrainArguments& given, const ReadOptions& reading,
                   Format format) {
  const TrainOptions& options = given.options;
  check_encoder(options.encoder, data);
  if (data.is_joint()) return;
  if (data.classes() < 2) {
    throw_error("the training data has one class only ('{}'); expected at least two", data.labels[0]);
  }
  if (reading.classes == 0)
    refuse_doubtful(given, classes_doubt(data, format == Format::csv || format == Format::tsv));
  if (format == Format::text) refuse_doubtful(given, texts_doubt(given.train));
}

// Of a linear model, or a network.
RunNeeds needs_of(const TrainArguments& given, const TrainingData& data, const EncoderPlan& plan) {
  const TrainOptions& options = given.options;
  if (options.encoder.is_network()) {
    const double examples = static_cast<double>(data.rows.train.examples());
    return network_needs(plan, options,
                         {examples, static_cast<double>(data.rows.train.features.sparse.column.size()) /
                                        std::max(1.0, examples)},
                         kAdvice);
  }
  const bool is_joint = data.rows.train.is_joint();
  const double classes = is_joint ? 1 : data.rows.train.classes(),
               features = data.rows.train.features.columns();
  const double parameters = classes * (features + 1);
  const bool is_split = options.shard == "classes" && !is_joint;
  const double own =  // of the process that has most of them
      is_split ? static_cast<double>(ClassShard(data.rows.train.classes()).most_own()) * (features + 1)
               : parameters;
  const std::string optimiser = choose_optimiser(options, static_cast<size_t>(parameters));
  const LoopVectors vectors = loop_vectors(options, optimiser, data.rows.valid.has_value());
  const double real = options.precision == "double" ? sizeof(double) : sizeof(float);
  const double values = data.rows.train.features.is_sparse
                            ? static_cast<double>(data.rows.train.features.sparse.column.size())
                            : static_cast<double>(data.rows.train.features.rows()) * features;
  const bool draws = is_candidate_objective(options.objective.name);
  const double passes = static_cast<double>(optimiser == "lbfgs" ? options.iterations : options.epochs);
  const double scored = draws ? std::min(classes, static_cast<double>(options.objective.samples)) : classes;
  return {.what = fmt::format("{} classes x {} features", grouped(data.rows.train.classes()),
                              grouped(data.rows.train.features.columns())),
          .memory = real * own * vectors.memory + sizeof(float) * own,
          .checkpoint = real * parameters * vectors.checkpoint,
          .model = (options.weights == "int8"       ? 1
                    : options.weights == "bfloat16" ? 2
                                                    : 4) *
                   parameters,
          .operations = passes * 2 * values * scored,
          .advice = kAdvice};
}

// Rows of files are shuffled a pool at a time, whose pages are all in use: fewer would be read again and
// again. A page brings its folio with it (Linux 6.18), of up to two megabytes, at both ends of a chunk.
void keep_pool(const Dataset& rows) {
  const SparseMatrix& x = rows.features.sparse;
  if (!x.column.file()) return;
  constexpr uint64_t kFolio = 2u << 20, kArrays = 2;
  const uint64_t pool = std::min(rows.examples(), ShuffledOrder::kChunk * ShuffledOrder::kPool);
  const double bytes = 12 + 8 * static_cast<double>(x.column.size()) / static_cast<double>(rows.examples());
  const double folios = static_cast<double>(ShuffledOrder::kPool * kArrays * kFolio);
  NumberFile::limit_resident(std::clamp(static_cast<uint64_t>(bytes * static_cast<double>(pool) + folios),
                                        kResidentBytes, kMostResident));
}

// The training data without their rows have all that the option can be wrong about.
void check_class_weight(const std::string& spec, const Dataset& data) {
  Dataset rowless;
  rowless.labels = data.labels;
  if (data.is_joint()) rowless.group_begin = {0};
  apply_class_weight(spec, rowless, nullptr);
}

TrainingData read_data(const Arguments& arguments, ReadResult read) {
  const TrainArguments& given = arguments.train;
  check_classes(read.data, given, arguments.reader.options, read.report.format);
  check_class_weight(given.options.class_weight, read.data);
  if (!given.weight_file.empty()) {
    read.data.weight = read_weights(given.weight_file, read.data.examples(), read.report.left_out);
  }
  TrainingData data;
  data.notes.push_back("read " + reading_text(given.train, read));
  data.rows.train = std::move(read.data);
  data.rows.text = std::move(read.text);
  data.table = std::move(read.table);
  data.notes.insert(data.notes.end(), read.report.notes.begin(), read.report.notes.end());
  data.target = read.report.target;
  data.record = data_record(given.train, data.rows.train);
  data.record["bad_rows"] = read.report.bad.size();
  data.reports.emplace_back(given.train, std::move(read.report));
  if (!given.valid.empty()) {
    data.rows.valid = read_valid(arguments, data);
    data.valid_record = data_record(given.valid, *data.rows.valid);
    for (uint64_t i = 0; i < data.rows.valid->examples(); ++i)
      data.held_out.push_back(data.rows.valid->numbers[i]);
  } else if (const double part =
                 hold_out_fraction(given, data.rows.train.examples(),
                                   objective_entry(given.options.objective.name).is_constraint);
             part > 0 && data.rows.train.examples() > 1) {
    const RowNumbers numbers = data.rows.train.numbers;
    for (const uint64_t place : hold_out_rows(data.rows, part, given.options))
      data.held_out.push_back(numbers[place]);
  }
  if (!given.unlabelled.empty()) {
    if (given.options.encoder.is_network())
      throw Error("--unlabelled: expected a linear model, found an encoder");
    data.unlabelled = read_unlabelled(arguments, data);
  }
  return data;
}

// The classes, of which training had so many each, or the alternatives of a group, by chance.
std::optional<SimpleModel> simple_model(const std::vector<uint64_t>& counts, const Dataset& measured) {
  if (measured.examples() == 0) return std::nullopt;
  if (!measured.is_joint())
    return frequency_model("the frequencies of the classes", counts,
                           class_counts(measured.target, static_cast<uint32_t>(counts.size())));
  double nll = 0;
  const std::vector<uint64_t>& begin = measured.group_begin;
  for (size_t g = 0; g + 1 < begin.size(); ++g) nll += std::log(static_cast<double>(begin[g + 1] - begin[g]));
  return SimpleModel{"the uniform choice", nll / static_cast<double>(measured.examples()), ""};
}

// Files are, pipes are not.
bool can_be_read_again(const std::string& path) {
  if (path == "-") return false;
  std::error_code error;
  return std::ranges::all_of(files_of_path(path), [&](const std::string& file) {
    return std::filesystem::is_regular_file(file, error);
  });
}

// Of a row that is multiplied by the weights of every class.
double mean_inputs(const ModelFile& model, const Dataset& data) {
  if (model.encoder.exists() || !data.features.is_sparse) return model.features;
  return static_cast<double>(data.features.sparse.column.size()) /
         static_cast<double>(std::max<uint64_t>(1, data.features.rows()));
}

class ClassifierTraining final : public Training {
 public:
  explicit ClassifierTraining(const Arguments& arguments)
      : arguments_(arguments), given_(arguments.train), options_(given_.options) {
    check_classifier_options(arguments);
  }

  std::vector<std::string> choose(Arguments& arguments) override {
    std::vector<std::string> notes = choose_place();
    if (std::string note = choose_options(arguments); !note.empty()) notes.push_back(std::move(note));
    return notes;
  }

  std::string choose_options(Arguments& arguments) {
    TrainOptions& options = arguments.train.options;
    ReadOptions& reading = arguments.reader.options;
    OptionTable table = train_option_table("classifier", options);
    table.append(text_option_table(reading.text));
    const auto is_given = [&](const std::string& name) {
      const Option* row = table.find(name);
      const bool is_on_at_first = row != nullptr && !row->off_text.empty();
      return arguments.has_named({"--" + (is_on_at_first ? row->off_flag() : name)});
    };
    if (given_.resume || is_decided(is_given)) return "";
    read_ = read_dataset(given_.train, reading_of_rows());
    const bool has_pieces =
        can_be_read_again(given_.train) &&
        take_pieces(*read_, reading.text, is_given, options, [&](const TextOptions& text) {
          ReadOptions other = reading;
          other.text = text;
          return read_dataset(given_.train, other);
        });
    const uint64_t examples = read_->data.examples();
    const bool has_valid = !given_.valid.empty() || (examples > 1 && hold_out_fraction(given_, examples) > 0);
    const TrainingChoice choice = choose_training(read_->data, has_valid, is_given, options, has_pieces);
    const nlohmann::ordered_json record = option_record(table);
    for (const std::string& name : choice.options) {
      std::string key = name;
      std::replace(key.begin(), key.end(), '-', '_');
      arguments.options[name] = record.at(key);
    }
    options_ = options;
    return choice.note;
  }

  ReadData read(const std::string&) override {
    data_ = read_data(arguments_, read_ ? std::move(*read_) : read_dataset(given_.train, reading_of_rows()));
    read_.reset();
    if (run_cache_) run_cache_->forget_names();
    keep_pool(data_.rows.train);
    if (!given_.carrier.empty() && data_.rows.train.is_joint())
      throw Error(
          "--carrier is one number per class; the data are groups of alternatives (qid:) without classes");
    if (!given_.carrier.empty())
      options_.log_carrier = read_carrier(given_.carrier, data_.rows.train.labels.all());
    plan_ = bag_plan(data_.rows);
    ReadData out{.notes = {},
                 .warnings = {},
                 .records = {{"data", data_.record}, {"valid", data_.valid_record}},
                 .needs = needs_of(given_, data_, plan_)};
    if (std::string note = take_embeddings(data_.rows, options_.encoder, plan_); !note.empty())
      data_.notes.push_back(std::move(note));
    out.notes = std::move(data_.notes);
    for (const auto& [path, report] : data_.reports)
      for (auto& texts : {bad_row_warnings(path, report), unseen_warnings(path, report.unseen)})
        out.warnings.insert(out.warnings.end(), texts.begin(), texts.end());
    return out;
  }

  RunResult train(const CheckpointOptions& checkpoint, TrainObserver& observer) override {
    is_held_out_ = data_.rows.valid.has_value();
    // Where weights say that chance is not meant, there is no model of it.
    has_simple_ = is_first_process() && is_held_out_ && options_.class_weight.empty() &&
                  data_.rows.train.weight.empty();
    if (has_simple_ && !data_.rows.train.is_joint())
      counts_ = class_counts(data_.rows.train.target, data_.rows.train.classes());
    examples_ = data_.rows.train.examples();
    audited_ = is_held_out_ ? *data_.rows.valid : data_.rows.train;
    if (is_held_out_ && data_.has_unseen()) data_.rows.valid = subset(audited_, seen_examples(audited_));
    result_ = train_rows(std::move(data_.rows), std::move(plan_), options_, checkpoint, observer,
                         std::move(data_.unlabelled));
    if (data_.table) result_.model.columns_json = data_.table->json();
    result_.model.target = data_.target;
    if (result_.shard.exists() && !result_.interrupted) {
      round_as_stored(result_.model);
      judge_together();
      if (is_split()) write_part(checkpoint.path);
    }
    return result_;
  }

  // Of the weights as they will be stored.
  Verdict judge() override {
    ModelFile& model = result_.model;
    if (failure_) std::rethrow_exception(failure_);
    const std::vector<uint64_t> rows = judged_rows();
    const bool is_part = rows.size() < audited_.examples();
    const Dataset part = is_part ? subset(audited_, rows) : Dataset{};
    const Dataset& measured = is_part ? part : audited_;
    if (!result_.shard.exists()) {
      round_as_stored(model);
      evaluation_ = evaluate(model, measured, arguments_.common.threads);
    }
    Verdict out{.data = is_held_out_ ? "validation" : "training"};
    out.audit = {{"data", out.data}};
    if (is_part) {
      out.audit["of"] = audited_.examples();
      out.notes.push_back(
          fmt::format("audited: {} of the {} {} rows, because a sum over {} classes is dear; 'selfnorm "
                      "evaluate' takes all",
                      grouped(rows.size()), grouped(audited_.examples()), out.data, grouped(model.classes)));
    }
    out.audit.update(evaluation_json(evaluation_, model.log_normalizer));
    out.nll = evaluation_.nll_exact;
    if (has_simple_) out.simple = simple_model(counts_, measured);
    out.table =
        evaluation_table({{options_.objective.name, evaluation_, {}}}) + log_z_line(evaluation_.log_z);
    if (is_held_out_ && !arguments_.ladder.no_ladder && model.family == Family::Multiclass) fit_ladder(out);
    model.audit_json = out.audit.dump();
    return out;
  }

  void save(const std::string& path) const override {
    if (!is_split()) return save_model(result_.model, path);
    write_unfinished();
    place_model_shards(path);
  }
  bool is_split() const override { return result_.shard.exists() && !result_.shard.is_whole(); }

  void show(const std::string& file, ReportDocument& document) override {
    const bool is_whole = !is_split() || !given_.no_report;  // in memory
    const ModelFile parts = is_split() && is_whole ? load_model(file) : ModelFile{};
    const ModelFile& model = is_split() && is_whole ? parts : result_.model;
    const ShownRun run{.model = model,
                       .file = file,
                       .given = given_,
                       .part = part_of_audited(),
                       .places = std::move(data_.held_out)};
    if (!is_whole) return add_evaluated_run(run, evaluation_, document);
    if (model.family == Family::Hierarchical) return add_normalised_run(run, evaluation_, document);
    add_run(run, *audited_source(std::move(audited_)), document);
    if (ladder_) cli::add_ladder(*ladder_, document);
  }

 private:
  // Rows to train on that would fill more than half of the memory, with the part that is held out, are read
  // to files beside the run.
  std::vector<std::string> choose_place() {
    const ReadOptions& reading = arguments_.reader.options;
    if (!reading.cache.empty() || !given_.weight_file.empty()) return {};
    const double bytes = 2 * estimated_memory(given_.train, reading);
    if (!any_process(bytes > kMostOfMemory * static_cast<double>(memory_limit()))) return {};
    run_cache_.emplace(given_.out.empty() ? "out/run" : given_.out);
    return {fmt::format(
        "the rows would take about {:.2g} GB of {:.2g} GB of memory, so they are read from files in "
        "{}; --cache DIR keeps them for other runs",
        bytes / 1e9, static_cast<double>(memory_limit()) / 1e9, run_cache_->folder())};
  }
  ReadOptions reading_of_rows() const {
    ReadOptions out = arguments_.reader.options;
    if (run_cache_) out.cache = run_cache_->folder();
    return out;
  }

  // Of a sum over all classes.
  std::vector<uint64_t> judged_rows() const {
    return audited_rows(audited_.examples(),
                        static_cast<double>(result_.model.classes) * mean_inputs(result_.model, audited_));
  }
  // Of classes that processes have parts of; what is wrong is said when the model is saved.
  void judge_together() {
    const Dataset measured = subset(audited_, judged_rows());
    try {
      evaluation_ = evaluate(result_.model, result_.shard, measured, arguments_.common.threads);
    } catch (const Error&) {
      failure_ = std::current_exception();
    }
  }
  // Every process its own classes; the first one writes its part when it has judged, and the index.
  void write_part(const std::string& checkpoint) {
    job_ = current_communicator();
    index_ = (std::filesystem::path(checkpoint).parent_path() / kModelIndexName).string();
    job_->share_work(
        [&] {
          const CommunicatorScope together(job_);
          const InterruptionScope until_the_end(Interruptions::put_off);
          if (!job_->is_first()) save_model_part(result_.model, result_.shard, index_);
        },
        {});
  }
  void write_unfinished() const {
    const CommunicatorScope together(job_);
    save_model_part(result_.model, result_.shard, index_);
    save_model_index(result_.model, result_.shard, index_);
  }
  // Which needs all classes.
  void fit_ladder(Verdict& out) {
    const auto source = audited_source(audited_);
    const auto fit = [&](ModelFile& model) {
      ladder_ = end_with_ladder(arguments_, examples_, {*source, part_of_audited()}, model, out);
    };
    if (!is_split()) return fit(result_.model);
    write_unfinished();
    ModelFile whole = load_model(unfinished_index(index_));
    fit(whole);
    result_.model.ladder = std::move(whole.ladder);
  }
  RowsPart part_of_audited() const {
    return is_held_out_ ? part_of_valid(given_.train, given_.valid) : RowsPart::kTrained;
  }
  // What the output layer meets.
  std::unique_ptr<ExampleSource> audited_source(Dataset data) const {
    std::unique_ptr<ExampleSource> source = make_example_source(std::move(data));
    if (result_.model.encoder.exists()) source = bag_states(result_.model.encoder, std::move(source));
    return source;
  }

  const Arguments& arguments_;
  const TrainArguments& given_;
  TrainOptions options_;
  std::optional<RunCache> run_cache_;
  Communicator* job_ = nullptr;     // whose processes have parts of the model
  std::string index_;               // of them
  std::optional<ReadResult> read_;  // by choose
  TrainingData data_;
  EncoderPlan plan_;
  bool is_held_out_ = false;
  uint64_t examples_ = 0;         // trained on
  bool has_simple_ = false;       // a model to compare with, of
  std::vector<uint64_t> counts_;  // the classes in training
  Dataset audited_;
  TrainResult result_;
  Evaluation evaluation_;
  std::exception_ptr failure_;  // instead of it
  std::optional<LadderFit> ladder_;
};

}  // namespace

std::unique_ptr<Training> classifier_training(const Arguments& arguments) {
  return std::make_unique<ClassifierTraining>(arguments);
}

}  // namespace selfnorm::cli
