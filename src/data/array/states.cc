#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/option_table.h"
#include "data/array/array_file.h"
#include "data/array/matrix.h"
#include "data/array/named_arrays.h"
#include "data/example_source.h"
#include "data/input/characters.h"
#include "data/input/sniff.h"
#include "data/string_index.h"

namespace selfnorm {
namespace {

void note_unseen(uint32_t target, const std::string& label, uint64_t row, UnseenLabels& unseen) {
  if (target != Dataset::kUnseenTarget) return;
  if (unseen.examples++ == 0) unseen = {1, row, label};
}

// The classes of the rows of a table of states, from an array of labels or a list of them.
class ClassColumn {
 public:
  // Array files are read in place, row by row; other files (text, idx, gzip) are read whole, here.
  static ClassColumn from_file(const std::string& path, const StatesOptions& options) {
    if (is_array_file(path)) {
      const ArrayFile file(path);
      if (file.format() != ArrayFormat::npy)
        throw DataError(path, 0, "found an archive of arrays, expected labels in an npy file or a text file");
      return from_array(file.view(file.entries().front()), options);
    }
    ClassColumn column(path, options);
    uint64_t row = 0;
    for (const std::string& label : read_label_file(path)) {
      column.numbers_.push_back(column.number(label, row));
      if (options.unseen) note_unseen(column.numbers_.back(), label, row, *options.unseen);
      ++row;
    }
    column.size_ = column.numbers_.size();
    return column;
  }
  static ClassColumn from_array(ArrayView labels, const StatesOptions& options) {
    ClassColumn column(labels.place, options);
    column.size_ = labels.bytes.size() / labels.type.size;
    if (labels.fortran_order && labels.shape.size() > 1)
      throw DataError(labels.place, 0, "found labels in Fortran order, expected C order");
    column.array_ = std::move(labels);
    for (uint64_t row = 0; options.unseen && row < column.size_; ++row)
      note_unseen(column[row], column.array_label(row), row, *options.unseen);
    column.release(0, options.unseen ? column.size_ : 0);
    return column;
  }

  uint64_t size() const { return size_; }
  // Throws DataError naming the file and the row.
  uint32_t operator[](uint64_t row) const {
    SELFNORM_CHECK(row < size_);
    if (!numbers_.empty()) return numbers_[row];
    return number(array_label(row), row);
  }
  // Rows begin .. end-1 are not needed for now.
  void release(uint64_t begin, uint64_t end) const { array_.release(begin, end - begin); }

 private:
  ClassColumn(std::string name, const StatesOptions& options) : name_(std::move(name)) {
    keeps_unseen_ = options.unseen != nullptr;
    if (options.schema && !options.schema->labels.empty()) {
      known_.emplace(options.schema->labels);
    } else if (options.classes > 0) {
      classes_ = options.classes;
    }
  }
  uint32_t number(const std::string& label, uint64_t row) const {
    const auto fail = [&](const std::string& what) -> uint32_t {
      throw_at(name_, row + 1, "row {}: {}", row + 1, what);
    };
    if (label.empty()) return fail("found an empty label, or NaN");
    if (known_) {
      const auto found = known_->find(label);
      return found ? *found : keeps_unseen_ ? Dataset::kUnseenTarget : fail(known_->unseen(label));
    }
    const std::string_view key = label_key(label);
    uint32_t value = 0;
    const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), value);
    if (code != std::errc() || end != key.data() + key.size() || value >= classes_)
      return fail(
          fmt::format("found label {}, expected a class number, 0 to {}", quoted_text(label), classes_ - 1));
    return value;
  }
  std::string array_label(uint64_t row) const {
    return label_text(array_.type, array_.bytes.data() + row * array_.type.size);
  }

  std::string name_;
  std::optional<KnownLabels> known_;
  bool keeps_unseen_ = false;
  uint32_t classes_ = Dataset::kNoTarget;  // without known labels
  ArrayView array_;
  std::vector<uint32_t> numbers_;  // instead of the array
  uint64_t size_ = 0;
};

// Rows of an array in place. Memory does not grow with the rows that went by.
class StatesSource : public ExampleSource {
 public:
  StatesSource(ArrayRows rows, std::optional<ClassColumn> classes)
      : rows_(std::move(rows)), classes_(std::move(classes)) {}

  uint64_t examples() const override { return rows_.rows(); }
  uint32_t columns() const override { return rows_.columns(); }
  bool has_targets() const override { return classes_.has_value(); }

  Dataset block(uint64_t begin, uint64_t end) const override {
    SELFNORM_CHECK(begin <= end);
    Dataset out = sized(end - begin);
    rows_.block(begin, end, out.features.dense.values);
    if (classes_) out.target.clear();
    for (uint64_t r = begin; classes_ && r < end; ++r) out.target.push_back((*classes_)[r]);
    release(begin, end);
    return out;
  }

  Dataset gather(std::span<const uint64_t> examples) const override {
    Dataset out = sized(examples.size());
    rows_.gather(examples, out.features.dense.values);
    if (classes_) out.target.clear();
    for (size_t r = 0; classes_ && r < examples.size(); ++r) out.target.push_back((*classes_)[examples[r]]);
    const auto [first, last] = std::minmax_element(examples.begin(), examples.end());
    if (first != examples.end()) release(*first, *last + 1);
    return out;
  }

 private:
  Dataset sized(uint64_t rows) const {
    Dataset out;
    out.features.is_sparse = false;
    out.features.dense.rows = rows;
    out.features.dense.columns = columns();
    out.features.dense.values.resize(rows * columns());
    out.target.assign(rows, Dataset::kNoTarget);
    return out;
  }

  void release(uint64_t begin, uint64_t end) const {
    rows_.release(begin, end);
    if (classes_) classes_->release(begin, end);
  }

  ArrayRows rows_;
  std::optional<ClassColumn> classes_;
};

// Rows and columns of an array: the last dimension is the columns. The first dimension is the rows instead
// when there are as many labels as that, or when the model has as many features as the others make together.
struct Shape {
  uint64_t rows = 0, columns = 0;
};

Shape row_shape(const ArrayEntry& entry, uint64_t features, std::optional<uint64_t> labels) {
  const uint64_t first = entry.shape.front(), last = entry.shape.back();
  const Shape by_last{last ? entry.elements / last : 0, last},
      by_first{first, first ? entry.elements / first : 0};
  const bool is_by_first = (labels && *labels == by_first.rows && *labels != by_last.rows) ||
                           (features == by_first.columns && features != by_last.columns);
  return is_by_first ? by_first : by_last;
}

bool is_name_of_weights(std::string_view name) {
  return name == "W" || name == "weight" || name.ends_with(".weight");
}

Shape checked_shape(const ArrayEntry& entry, const StatesOptions& options, std::optional<uint64_t> labels) {
  const auto fail = [&](const std::string& what) { throw DataError(entry.place, 0, what); };
  if (!entry.problem.empty()) throw Error(entry.problem);
  if (!entry.type.is_number()) fail("found elements that are not numbers");
  if (entry.shape.size() < 2)
    fail(fmt::format("found an array of shape {}, expected states: rows x columns; labels are given by {}",
                     entry.shape_text(), option_name("labels")));
  if (options.name.empty() && is_name_of_weights(entry.name))
    fail(fmt::format(
        "found the weights of a softmax head, expected the states that go into it, rows x columns, in "
        "npy, or in npz or safetensors as states; if they are states, name them ({})",
        option_name("states-name")));
  if (entry.fortran_order && entry.shape.size() > 2)
    fail("found Fortran order in more than 2 dimensions, expected C order");
  const uint64_t features = options.schema ? options.schema->feature_count : 0;
  const Shape shape = row_shape(entry, features, labels);
  if (shape.rows == 0) fail(kNoRows);
  if (shape.columns == 0) fail("found 0 columns, expected features");
  if (shape.columns > 0xFFFFFFFEu) fail("the declared shape is too large");
  if (features > 0 && shape.columns != features)
    fail(fmt::format("found {} columns, but the model has {} features", shape.columns, features));
  if (labels && *labels != shape.rows) fail(fmt::format("found {} labels for {} rows", *labels, shape.rows));
  return shape;
}

std::optional<ClassColumn> class_column(const ArrayFile& file, const StatesOptions& options) {
  if (!options.labels.empty()) return ClassColumn::from_file(options.labels, options);
  const ArrayEntry* inside = file.format() == ArrayFormat::npy ? nullptr : choose_labels(file);
  if (!inside) return std::nullopt;
  return ClassColumn::from_array(file.view(*inside), options);
}

// The npy and safetensors files of a directory, in the order of their names; none of a run or a checkpoint.
std::vector<std::string> state_shards(const std::string& directory) {
  std::vector<std::string> out;
  if (std::filesystem::exists(directory + "/config.json")) return out;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string extension = entry.path().extension();
    if (extension == ".npy" || extension == ".safetensors") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Shards of states, one after the other.
class JoinedStates final : public ExampleSource {
 public:
  JoinedStates(const std::string& directory, const StatesOptions& options) {
    if (!options.labels.empty())
      throw DataError(directory, 0, "found labels beside a directory of states; expected them in its files");
    for (const std::string& path : state_shards(directory)) {
      part_.push_back(open_states(path, options));
      end_.push_back(examples() + part_.back()->examples());
      if (part_.back()->columns() != columns())
        throw DataError(path, 0,
                        fmt::format("found {} columns, expected {} as in the files before",
                                    part_.back()->columns(), columns()));
    }
    if (part_.empty())
      throw DataError(directory, 0, "found no npy or safetensors file; expected those of states");
  }

  uint64_t examples() const override { return end_.empty() ? 0 : end_.back(); }
  uint32_t columns() const override { return part_[0]->columns(); }
  bool has_targets() const override {
    return std::all_of(part_.begin(), part_.end(), [](const auto& part) { return part->has_targets(); });
  }
  Dataset gather(std::span<const uint64_t> examples) const override {
    Dataset out;
    out.features.is_sparse = false;
    out.features.dense.columns = columns();
    for (size_t i = 0; i < examples.size();) {  // runs of examples in one part
      const auto at =
          static_cast<size_t>(std::upper_bound(end_.begin(), end_.end(), examples[i]) - end_.begin());
      const uint64_t begin = at == 0 ? 0 : end_[at - 1];
      std::vector<uint64_t> run;
      for (; i < examples.size() && examples[i] >= begin && examples[i] < end_[at]; ++i)
        run.push_back(examples[i] - begin);
      const Dataset part = part_[at]->gather(run);
      DenseMatrix& to = out.features.dense;
      to.rows += part.features.dense.rows;
      to.values.insert(to.values.end(), part.features.dense.values.begin(), part.features.dense.values.end());
      out.target.append(part.target);
    }
    return out;
  }

 private:
  std::vector<std::unique_ptr<ExampleSource>> part_;
  std::vector<uint64_t> end_;  // of each part
};

}  // namespace

bool is_array_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return !state_shards(path).empty();
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  const std::string head = array_head(path);
  if (!is_array_head(head)) return path.ends_with(".safetensors");
  if (head[0] != 'P') return true;
  try {
    return !is_csr(ArrayFile(path));
  } catch (const Error&) {
    return true;  // open_states says what is wrong
  }
}

std::unique_ptr<ExampleSource> open_states(const std::string& path, const StatesOptions& options) {
  if (options.schema && options.schema->is_joint)
    throw DataError(path, 0, "the model scores groups of alternatives; expected svmlight data with qid:");
  if (std::filesystem::is_directory(path)) return std::make_unique<JoinedStates>(path, options);
  const ArrayFile file(path);
  if (options.name.empty() && is_csr(file))
    throw DataError(path, 0, "found a sparse matrix, expected an array of states: rows x columns");
  const ArrayEntry& entry = choose_features(file, options.name);
  std::optional<ClassColumn> classes = class_column(file, options);
  const Shape shape = checked_shape(entry, options, classes ? std::optional(classes->size()) : std::nullopt);
  return std::make_unique<StatesSource>(
      ArrayRows(file.view(entry), shape.rows, static_cast<uint32_t>(shape.columns)), std::move(classes));
}

}  // namespace selfnorm
