#include "data/array/matrix.h"

#include <cmath>
#include <filesystem>
#include <map>

#include "base/failure.h"
#include "data/array/array.h"
#include "data/input/part.h"
#include "data/input/records.h"
#include "data/input/sniff.h"

namespace selfnorm {
namespace {

// The idx header: 0, 0, element type, number of dimensions, then each as a big-endian uint32 (LeCun, MNIST).

Array open_idx(const std::string& name, ByteSource& source) {
  unsigned char head[4];
  bool whole = read_fully(source, reinterpret_cast<char*>(head), 4) == 4;
  if (!whole || head[0] != 0 || head[1] != 0)
    throw DataError(name, 0, "found no idx magic bytes at the start, expected 0, 0");
  Array array;
  array.name = name;
  array.payload = &source;
  static const std::map<unsigned char, ElementType> types = {
      {0x08, {ElementKind::natural, 1, true}}, {0x09, {ElementKind::integer, 1, true}},
      {0x0B, {ElementKind::integer, 2, true}}, {0x0C, {ElementKind::integer, 4, true}},
      {0x0D, {ElementKind::real, 4, true}},    {0x0E, {ElementKind::real, 8, true}}};
  const auto type = types.find(head[2]);
  if (type == types.end())
    throw_at(name, 0, "found the idx element type {:#04x}, expected 0x08 to 0x0e", head[2]);
  array.type = type->second;
  if (head[3] == 0) throw DataError(name, 0, "found an idx file of 0 dimensions, expected at least 1");
  for (unsigned i = 0; i < head[3]; ++i) {
    unsigned char n[4];
    if (read_fully(source, reinterpret_cast<char*>(n), 4) < 4)
      throw DataError(name, 0, "the file ends within the idx header");
    array.shape.push_back(uint64_t{n[0]} << 24 | uint64_t{n[1]} << 16 | uint64_t{n[2]} << 8 | n[3]);
  }
  return array;
}

// ".../train-images-idx3-ubyte.gz" -> ".../train-labels-idx1-ubyte.gz", or without .gz, or empty.
std::string idx_labels_path(const std::string& images_path) {
  std::filesystem::path path(images_path);
  std::string file = path.filename().string();
  size_t images = file.find("images"), idx = file.find("idx3");
  if (images == std::string::npos || idx == std::string::npos || idx < images) return {};
  file.replace(idx, 4, "idx1").replace(images, 6, "labels");
  std::string plain = file.ends_with(".gz") ? file.substr(0, file.size() - 3) : file;
  for (const std::string& candidate : {file, plain, plain + ".gz"}) {
    std::error_code ignored;
    auto labels = path.parent_path() / candidate;
    if (std::filesystem::exists(labels, ignored)) return labels.string();
  }
  return {};
}

std::span<const float> row_values(const Features& features, uint64_t row) {
  if (!features.is_sparse) return features.dense.row(row);
  uint64_t begin = features.sparse.begin[row];
  return {features.sparse.value.data() + begin, features.sparse.begin[row + 1] - begin};
}

}  // namespace

std::string value_error(std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return fmt::format("found {} at position {}, expected finite numbers in the range of a 32-bit float",
                         values[i], i);
  return {};
}

Features dense_features(const Array& array) {
  auto fail = [&](const std::string& what) { throw DataError(array.name, 0, what); };
  if (array.shape.size() < 2)
    fail(fmt::format("found an array of {} dimensions, expected features: rows x columns",
                     array.shape.size()));
  if (array.fortran_order && array.shape.size() > 2)
    fail("found Fortran order in more than 2 dimensions, expected C order");
  uint64_t columns = 1;
  for (size_t i = 1; i < array.shape.size(); ++i)
    if (__builtin_mul_overflow(columns, array.shape[i], &columns)) columns = UINT64_MAX;
  if (columns > 0xFFFFFFFEu) fail("the declared shape is too large");
  if (columns == 0) fail("found 0 columns, expected features");
  if (array.shape[0] == 0) fail(kNoRows);
  Features features;
  features.is_sparse = false;
  features.dense.columns = static_cast<uint32_t>(columns);
  features.dense.values = read_floats(array);
  features.dense.rows = array.shape[0];
  return features;
}

std::vector<std::string> read_label_file(const std::string& path) {
  auto input = Input::open(path);
  std::string_view head = input->peek(8);
  if (head.starts_with("\x93NUMPY")) return read_labels(open_npy(path, *input));
  if (head.starts_with(std::string_view("\0\0", 2))) return read_labels(open_idx(path, *input));
  const std::string text = input->read_rest();
  std::vector<std::string> labels;
  uint64_t lines = 0;
  for (std::string_view rest = text; !rest.empty();) labels.emplace_back(take_record(rest, {}, lines));
  return labels;
}

ReadResult labelled_matrix(const Input& input, Features features,
                           std::optional<std::vector<std::string>> labels, const ReadOptions& options) {
  uint64_t rows = features.rows();
  if (!labels && options.require_labels)
    throw_at(input.name(), 0, "found features but no labels; name the file that has them (`labels`)");
  if (labels && labels->size() != rows)
    throw_at(input.name(), 0, "found {} labels for {} rows", labels->size(), rows);
  uint32_t columns = features.columns();
  if (options.schema && (features.is_sparse ? columns > options.schema->feature_count
                                            : columns != options.schema->feature_count))
    throw_at(input.name(), 0, "found {} columns, but the model has {} features", columns,
             options.schema->feature_count);

  BadRows bad(input.name(), options.skip_bad, Place::row);
  LabelRule rule(options);
  LabelTable table;
  ReadResult result;
  Dataset& data = result.data;
  std::vector<uint64_t> kept, left_out;
  for (uint64_t r = 0; r < rows; ++r) {
    uint32_t target = Dataset::kNoTarget;
    std::string message = value_error(row_values(features, r));
    if (message.empty() && labels) {
      bool missing = options.require_labels && (*labels)[r].empty();
      message = missing ? "found an empty label, or NaN" : rule.number((*labels)[r], table, target);
    }
    data.target.push_back(target);
    if (message.empty()) {
      kept.push_back(r);
    } else {
      bad.add(r + 1, message);
      left_out.push_back(r);
    }
  }
  data.features = std::move(features);
  set_labels(table, options, data);
  if (options.schema && data.features.is_sparse) data.features.sparse.columns = options.schema->feature_count;
  if (kept.empty()) throw DataError(input.name(), 0, "found no good row of data");
  if (kept.size() < rows) data = subset(data, kept);
  data.numbers = numbers_without(left_out);
  UnseenLabels unseen;
  if (options.keep_unseen) unseen = unseen_labels(data, table);
  result.report = {
      Format::automatic, kept.size(), input.bytes_read(), bad.take(), std::move(left_out), {}, unseen};
  return result;
}

ReadResult read_npy(Input& input, const ReadOptions& options) {
  Features features = dense_features(open_npy(input.name(), input));
  std::optional<std::vector<std::string>> labels;
  if (!options.labels_path.empty()) labels = read_label_file(options.labels_path);
  return labelled_matrix(input, std::move(features), std::move(labels), options);
}

ReadResult read_idx(Input& input, const ReadOptions& options) {
  Features features = dense_features(open_idx(input.name(), input));
  std::string path = options.labels_path.empty() ? idx_labels_path(input.name()) : options.labels_path;
  std::optional<std::vector<std::string>> labels;
  if (!path.empty()) labels = read_label_file(path);
  return labelled_matrix(input, std::move(features), std::move(labels), options);
}

}  // namespace selfnorm
