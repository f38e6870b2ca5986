#include "classifier/any_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "model/encoded_states.h"
#include "run/reading_note.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {

AnyModel::AnyModel(const std::string& model, const HeadNames& names) : header_(read_header(model, names)) {
  if (!header_.head) own_ = load_model(header_);
}

const ModelFile& AnyModel::file() const {
  if (own_) return *own_;
  SELFNORM_CHECK(header_.head != nullptr);
  return header_.head->model;
}

TokenCorpus read_text(const std::vector<std::string>& words, const std::string& path) {
  return read_corpus(path, WordVocabulary(words), std::filesystem::temp_directory_path());
}

std::unique_ptr<ExampleSource> open_examples(const AnyModel& model, const std::string& path,
                                             const ReadOptions& options, const std::string& states_name) {
  const ModelFile& file = model.file();
  if (file.family == Family::Hierarchical)
    throw Error(fmt::format(
        "{}: the probabilities of a hierarchical model sum to 1 as they are; there is no log Z to look at",
        model.path()));
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
    throw Error(fmt::format("--states-name {}: {} is not an npz or safetensors file", states_name, path));
  } else if (model.header().is_language()) {
    source = corpus_states(file.encoder, read_text(file.labels, path));
  } else {
    ReadOptions unlabelled = options;
    unlabelled.require_labels = false;
    ReadResult read = read_for(model.header(), path, unlabelled);
    note_bad_rows(path, read.report);
    unseen = read.report.unseen;
    source = make_example_source(std::move(read.data));
    if (file.encoder.exists()) source = bag_states(file.encoder, std::move(source));
  }
  if (source->columns() != file.features) {
    throw Error(fmt::format("{}: found {} columns, but {} has {} features", path, source->columns(),
                            model.path(), file.features));
  }
  note_unseen(path, unseen);
  return source;
}

}  // namespace selfnorm::cli
