#include "any_model.h"

#include <fmt/format.h>

#include "reading_note.h"
#include "selfnorm/base/error.h"

namespace selfnorm::cli {

AnyModel::AnyModel(const std::string& model, const HeadNames& names) : header_(read_header(model, names)) {
  if (!header_.head) own_ = load_model(header_);
}

const ModelFile& AnyModel::file() const {
  if (own_) return *own_;
  SELFNORM_CHECK(header_.head != nullptr);
  return header_.head->model;
}

std::unique_ptr<ExampleSource> open_examples(const AnyModel& model, const std::string& path,
                                             const ReadOptions& options, const std::string& states_name) {
  std::unique_ptr<ExampleSource> source;
  if (path != "-" && options.format == Format::automatic && options.skip_bad == 0 && is_array_file(path)) {
    source = open_states(path, {.name = states_name,
                                .labels = options.labels_path,
                                .schema = &model.header().schema,
                                .classes = model.file().classes});
  } else {
    if (!states_name.empty())
      throw Error(fmt::format("--states-name {}: {} is not an npz or safetensors file", states_name, path));
    ReadOptions unlabelled = options;
    unlabelled.require_labels = false;
    ReadResult read = read_for(model.header(), path, unlabelled);
    note_bad_rows(path, read.report);
    source = make_example_source(std::move(read.data));
  }
  if (source->columns() != model.file().features) {
    throw Error(fmt::format("{}: found {} columns, but {} has {} features", path, source->columns(),
                            model.path(), model.file().features));
  }
  return source;
}

}  // namespace selfnorm::cli
