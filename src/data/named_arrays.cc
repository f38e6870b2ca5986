#include "named_arrays.h"

#include <fmt/format.h>

#include "csr.h"
#include "matrix.h"
#include "quote.h"
#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

const ArrayEntry* first_of(const ArrayFile& file, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const ArrayEntry* entry = file.find(name)) return entry;
  return nullptr;
}

bool is_label_name(const std::string& name) {
  return name == "y" || name == "label" || name == "labels" || name == "target" || name == "targets";
}

}  // namespace

bool is_csr(const ArrayFile& file) { return file.find("indptr") && !first_of(file, {"X", "x", "features"}); }

const ArrayEntry* choose_labels(const ArrayFile& file) {
  return first_of(file, {"y", "label", "labels", "target", "targets"});
}

const ArrayEntry& choose_features(const ArrayFile& file, const std::string& name) {
  if (!name.empty()) {
    const ArrayEntry* named = file.find(name);
    if (named) return *named;
    throw DataError(
        file.name(), 0,
        fmt::format("found no array {}; found {}", quoted_text(name),
                    file.format() == ArrayFormat::npy ? "an npy file, which holds one array and no name"
                                                      : list_of_names(file.entries())));
  }
  if (file.format() == ArrayFormat::npy) return file.entries().front();
  const ArrayEntry* found =
      first_of(file, {"X", "x", "features", "data", "states", "hidden_states", "h", "H"});
  if (found) return *found;
  size_t candidates = 0;
  for (const ArrayEntry& entry : file.entries()) {
    const bool fits = entry.problem.empty() && entry.type.is_float() && entry.shape.size() >= 2;
    if (!fits || is_label_name(entry.name)) continue;
    found = &entry;
    ++candidates;
  }
  if (candidates == 1) return *found;
  throw DataError(
      file.name(), 0,
      fmt::format("found {}; expected an array X, x, features, data, states, hidden_states, h or H, or one "
                  "array of floats in two or more dimensions (and y, label, labels, target or targets)",
                  list_of_names(file.entries())));
}

ReadResult read_named_arrays(Input& input, Format format, const ReadOptions& options) {
  std::shared_ptr<Storage> storage = input.storage();
  if (!storage && format == Format::npz)
    throw DataError(input.name(), 0,
                    "an npz file cannot be read from a pipe or from within gzip; expected a plain file");
  if (!storage) storage = owned_storage(input.read_rest());
  const ArrayFile file(input.name(), storage);
  Features features =
      is_csr(file) ? csr_features(file) : with_array(file, choose_features(file, {}), dense_features);
  std::optional<std::vector<std::string>> labels;
  if (!options.labels_path.empty()) {
    labels = read_label_file(options.labels_path);
  } else if (const ArrayEntry* inside = choose_labels(file)) {
    labels = with_array(file, *inside, read_labels);
  }
  ReadResult result = labelled_matrix(input, std::move(features), std::move(labels), options);
  result.report.bytes = storage->size();
  return result;
}

}  // namespace selfnorm
