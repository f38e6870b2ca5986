#include "classifier/model_header.h"

#include <algorithm>
#include <filesystem>

#include "base/failure.h"
#include "data/plausible.h"
#include "data/string_index.h"
#include "gpu/device.h"
#include "model/encoder.h"
#include "model/text_model.h"
#include "run/reading_note.h"
#include "run/run_record.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm::cli {
namespace {

std::vector<std::string> strings(const runtime::StringTable& table) {
  std::vector<std::string> all(table.size());
  std::string_view text;
  for (size_t i = 0; i < all.size(); ++i) {
    SELFNORM_CHECK(table.get(i, text));
    all[i] = text;
  }
  return all;
}

Json metadata(const runtime::Safetensors& file, const char* key, const std::string& path) {
  const std::string& json = file.metadata.find(key)->second;
  check_metadata_json(path, key, json);
  return Json::parse(json);
}

void check_labels(const ClassNames& labels, const std::string& path) {
  try {
    const KnownLabels known(labels);
  } catch (const Error& error) {
    throw_error("{}: {}", path, error.what());
  }
}

ModelHeader header_of(std::span<const std::byte> bytes, const std::string& path) {
  const runtime::Safetensors file = runtime::parse_safetensors(bytes, path);
  const runtime::ModelLayout layout = runtime::read_layout(file, path);
  runtime::check_string_tables(layout, path);
  ModelHeader header;
  header.path = path;
  header.bytes = bytes.size();
  header.family = layout.family;
  header.input = layout.input;
  header.weights = layout.weights;
  header.classes = layout.classes;
  header.log_normalizer = layout.log_normalizer;
  header.has_carrier = !layout.log_carrier.empty();
  header.has_normalizer = layout.normalizer.exists();
  header.hidden_units = layout.normalizer.output.size();
  header.schema.labels = labels_of(layout);
  header.features = layout.features;
  header.encoder = {layout.encoder.kind, layout.encoder.width, layout.encoder.positions,
                    layout.encoder.hidden()};
  header.schema.feature_count = layout.inputs();
  header.schema.feature_names = strings(layout.feature_names);
  header.schema.is_joint = header.is_joint();
  if (!header.is_language()) check_labels(header.schema.labels, path);  // "+7" and "7" are two words
  if (layout.input == ModelInput::Text)
    header.schema.text = restored_text({.options_json = file.metadata.find("text")->second,
                                        .vocabulary = strings(layout.vocabulary),
                                        .idf = {layout.idf.begin(), layout.idf.end()},
                                        .features = layout.inputs()},
                                       path);
  if (const auto target = file.metadata.find("target"); target != file.metadata.end())
    header.schema.target = target->second;
  if (const auto columns = file.metadata.find("columns"); columns != file.metadata.end()) {
    check_metadata_json(path, "columns", columns->second);
    try {
      header.schema.table = TableEncoder::from_json(columns->second);
    } catch (const Error& error) {
      throw_error("{}: {}", path, error.what());
    }
  }
  header.objective = metadata(file, "objective", path);
  header.training = metadata(file, "training", path);
  header.audit = metadata(file, "audit", path);
  return header;
}

ModelHeader header_of_head(const std::string& path, const HeadNames& names) {
  ModelHeader header;
  header.head = std::make_shared<const Head>(load_head(path, names));
  const ModelFile& model = header.head->model;
  header.path = path;
  header.bytes = std::filesystem::file_size(path);
  header.input = model.input;
  header.classes = model.classes;
  header.log_normalizer = model.log_normalizer;
  header.has_normalizer = model.normalizer.exists();
  header.hidden_units = model.normalizer.hidden();
  header.schema.labels = ClassNames::numbers(model.classes);
  header.features = model.features;
  header.schema.feature_count = model.features;
  return header;
}

}  // namespace

std::string model_path(const std::string& model) {
  if (!std::filesystem::is_directory(model)) return model;
  const std::string index = model + "/" + kModelIndexName;
  const bool is_split = !std::filesystem::exists(model + "/" + kModelName) && std::filesystem::exists(index);
  return is_split ? index : model + "/" + kModelName;
}

std::string finished_model_path(const std::string& model) {
  std::string path = model_path(model);
  if (path != model && !std::filesystem::exists(path) &&
      std::filesystem::exists(model + "/" + kCheckpointName)) {
    throw_error("{}: the run is not finished; 'selfnorm {} --resume --out {}' continues it", model,
                runtime::shortened(recorded_command(model)), model);
  }
  return path;
}

ModelHeader read_header(const std::string& model, const HeadNames& names) {
  const std::string path = finished_model_path(model);
  if (is_head_file(path)) return header_of_head(path, names);
  if (!names.weight.empty() || !names.bias.empty())
    throw_error("{}: --weight-name and --bias-name are for softmax heads, this is a selfnorm model", path);
  try {
    const runtime::MappedFile file(path);
    return header_of(file.bytes(), path);
  } catch (const runtime::FormatError& error) {
    throw Error(error.what());
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  }
}

bool stays_in_file(const ModelHeader& header) {
  return header.path.ends_with(runtime::kShardIndexEnding) && header.family == Family::Multiclass &&
         (header.encoder.kind == EncoderKind::Bag ||
          (header.input == ModelInput::Dense && chosen_device().device == nullptr));
}

ModelFile load_model(const ModelHeader& header) {
  return header.head == nullptr ? load_model(header.path) : header.head->model;
}

ReadOptions reading_for(const ModelHeader& header, ReadOptions options) {
  if (header.is_language()) throw_error("{} is a language model; expected a classifier", header.path);
  options.schema = &header.schema;
  if (header.schema.text && !header.schema.table && options.format == Format::automatic)
    options.format = Format::text;
  return options;
}

void check_sparse(const ModelHeader& header, const std::string& path, const Dataset& data) {
  if (header.encoder.kind == EncoderKind::Bag && !data.features.is_sparse)
    throw_error("{}: found dense rows, but the bag encoder of {} reads sparse ones", path, header.path);
}

ReadResult read_for(const ModelHeader& header, const std::string& path, ReadOptions options) {
  ReadResult read = read_dataset(path, reading_for(header, std::move(options)));
  check_sparse(header, path, read.data);
  return read;
}

AnyModel::AnyModel(const std::string& model, const HeadNames& names) : header_(read_header(model, names)) {
  if (!header_.head) own_ = load_model(header_);
}

const ModelFile& AnyModel::file() const {
  if (own_) return *own_;
  SELFNORM_CHECK(header_.head != nullptr);
  return header_.head->model;
}

TokenCorpus read_text(const std::vector<std::string>& words, const std::string& path) {
  warn_of_doubt(path, corpus_doubt(path));
  return read_corpus(path, WordVocabulary(words), std::filesystem::temp_directory_path());
}

std::unique_ptr<ExampleSource> open_examples(const AnyModel& model, const std::string& path,
                                             const ReadOptions& options, const std::string& states_name) {
  const ModelFile& file = model.file();
  if (file.family == Family::Hierarchical)
    throw_error(
        "{}: the probabilities of a hierarchical model sum to 1 as they are; there is no log Z to look at",
        model.path());
  std::unique_ptr<ExampleSource> source;
  UnseenLabels unseen;
  if (path != "-" && options.format == Format::automatic && options.skip_bad == 0 && is_array_file(path)) {
    // Hidden states, also of a model with an encoder.
    Schema schema = model.header().schema;
    schema.feature_count = file.features;
    source = open_states(path, {.name = states_name,
                                .labels = options.labels_path,
                                .schema = &schema,
                                .classes = file.classes,
                                .unseen = options.keep_unseen ? &unseen : nullptr});
  } else if (!states_name.empty()) {
    throw_error("--states-name {}: {} is not an npz or safetensors file", states_name, path);
  } else if (model.header().is_language()) {
    source = corpus_states(file.encoder, read_text(file.labels.all(), path));
  } else {
    ReadOptions unlabelled = options;
    unlabelled.require_labels = false;
    ReadResult read = read_for(model.header(), path, unlabelled);
    note_reading(path, read.report);
    unseen = read.report.unseen;
    source = make_example_source(std::move(read.data));
    if (file.encoder.exists()) source = bag_states(file.encoder, std::move(source));
  }
  if (source->columns() != file.features)
    throw_error("{}: found {} columns, but {} has {} features", path, source->columns(), model.path(),
                file.features);
  note_unseen(path, unseen);
  return source;
}

}  // namespace selfnorm::cli
