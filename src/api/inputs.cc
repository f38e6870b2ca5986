#include "api/inputs.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "api/rows.h"
#include "base/failure.h"
#include "data/read.h"

namespace selfnorm {
namespace {

void append_sparse(const SparseRow& row, SparseMatrix& out) {
  out.column.append(row.column);
  out.value.append(row.value);
  out.begin.push_back(out.column.size());
}

void append_row(const SparseRows& x, uint64_t row, SparseMatrix& out) {
  const int64_t begin = x.begin[row], end = x.begin[row + 1];
  if (begin < 0 || end < begin || static_cast<uint64_t>(end) > x.entries())
    throw_error("row {} (from 0): found entries {} to {} of {}; expected offsets that rise", row, begin, end,
                x.column.size());
  for (int64_t p = begin; p < end; ++p) {
    const int32_t column = x.column[static_cast<size_t>(p)];
    const float value = x.at(static_cast<size_t>(p));
    const bool is_rising = p == begin || column > x.column[static_cast<size_t>(p - 1)];
    if (column < 0 || static_cast<uint32_t>(column) >= x.columns || !is_rising)
      throw_error("row {} (from 0): found column {}; expected rising ones below {}", row, column, x.columns);
    if (!std::isfinite(value))
      throw_error("row {}, column {} (from 0): found {}; expected finite numbers, no NaN and no infinity",
                  row, column, value);
    out.column.push_back(static_cast<uint32_t>(column));
    out.value.push_back(value);
  }
  out.begin.push_back(out.column.size());
}

class InputSource final : public ExampleSource {
 public:
  InputSource(const Inputs& x, const InputShape& shape, std::vector<uint32_t> targets)
      : x_(x), shape_(shape), targets_(std::move(targets)) {}

  uint64_t examples() const override { return x_.rows(); }
  uint32_t columns() const override { return shape_.columns; }
  bool has_targets() const override { return !targets_.empty(); }

  Dataset block(uint64_t begin, uint64_t end) const override {
    std::vector<uint64_t> rows(end - begin);
    std::iota(rows.begin(), rows.end(), begin);
    return gather(rows);
  }

  Dataset gather(std::span<const uint64_t> rows) const override {
    Dataset out;
    for (const uint64_t row : rows)
      out.target.push_back(targets_.empty() ? Dataset::kNoTarget : targets_[row]);
    Features& features = out.features;
    features.is_sparse = x_.dense() == nullptr || shape_.is_sparse;
    features.sparse.columns = shape_.columns;
    if (const Rows* dense = x_.dense()) {
      features.dense = {rows.size(), shape_.columns, std::vector<float>(rows.size() * shape_.columns)};
      const std::span<float> values = features.dense.values;
      for (size_t i = 0; i < rows.size(); ++i)
        dense->read(rows[i], values.subspan(i * shape_.columns, shape_.columns));
      if (shape_.is_sparse) make_sparse(features);
    } else if (const SparseRows* sparse = x_.sparse()) {
      for (const uint64_t row : rows) append_row(*sparse, row, features.sparse);
    } else {
      for (const uint64_t row : rows) append_sparse(shape_.text->encode((*x_.texts())[row]), features.sparse);
    }
    return out;
  }

 private:
  static void make_sparse(Features& features) {
    for (uint64_t i = 0; i < features.dense.rows; ++i) {
      const auto row = features.dense.row(i);
      for (uint32_t j = 0; j < row.size(); ++j) {
        if (row[j] == 0) continue;
        features.sparse.column.push_back(j);
        features.sparse.value.push_back(row[j]);
      }
      features.sparse.begin.push_back(features.sparse.column.size());
    }
    features.dense = {};
  }

  Inputs x_;
  InputShape shape_;
  std::vector<uint32_t> targets_;
};

// A text a line; a line's end or a tab in it divides words as a blank does.
std::string text_lines(Texts texts, const Labels& labels) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) {
    out += std::to_string(labels.index[i]) + '\t';
    const size_t begin = out.size();
    out += texts[i];
    std::replace_if(
        out.begin() + static_cast<ptrdiff_t>(begin), out.end(),
        [](char c) { return c == '\n' || c == '\r' || c == '\t' || c == '\0'; }, ' ');
    out += '\n';
  }
  return out;
}

// Which names have a row.
std::vector<uint8_t> used_labels(const Inputs& x, const Labels& labels) {
  if (labels.index.size() != x.rows())
    throw_error("found {} labels for {} rows; expected one a row", labels.index.size(), x.rows());
  std::vector<uint8_t> is_used(labels.names.size());
  for (const uint32_t index : labels.index) {
    if (index >= is_used.size())
      throw_error("found label {} of {} names; expected one of them", index, is_used.size());
    is_used[index] = 1;
  }
  if (labels.names.size() < 2) throw_error("found {} classes; expected at least two", labels.names.size());
  return is_used;
}

void check_labels(const Inputs& x, const Labels& labels) {
  const std::vector<uint8_t> is_used = used_labels(x, labels);
  if (const auto unused = std::find(is_used.begin(), is_used.end(), 0); unused != is_used.end())
    throw_error("found the class '{}' without a row; expected rows of every class",
                labels.names[static_cast<size_t>(unused - is_used.begin())]);
}

std::vector<float> checked_weights(std::span<const float> weights, uint64_t rows) {
  if (!weights.empty() && weights.size() != rows)
    throw_error("found {} weights for {} rows; expected one a row", weights.size(), rows);
  for (size_t i = 0; i < weights.size(); ++i)
    if (!(weights[i] >= 0 && std::isfinite(weights[i])))
      throw_error("weight {} (from 0) is {}; expected finite numbers >= 0", i, weights[i]);
  return {weights.begin(), weights.end()};
}

}  // namespace

Labels::Labels(const std::vector<std::string>& of_rows) : names(of_rows) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& label : of_rows)
    index.push_back(
        static_cast<uint32_t>(std::lower_bound(names.begin(), names.end(), label) - names.begin()));
}

std::unique_ptr<ExampleSource> make_input_source(const Inputs& x, const InputShape& shape,
                                                 std::vector<uint32_t> targets) {
  if (x.rows() == 0) throw Error("found no rows; expected at least one");
  if ((x.texts() != nullptr) && (shape.text == nullptr))
    throw Error("found texts; the model was trained on rows of numbers");
  if (x.texts() == nullptr && shape.text != nullptr && x.sparse() == nullptr)
    throw Error("found rows of numbers; the model was trained on texts");
  if (x.dense() != nullptr) check_shape(*x.dense());
  const uint32_t found = x.dense() ? x.dense()->columns() : x.sparse() ? x.sparse()->columns : shape.columns;
  if (found != shape.columns)
    throw_error("found rows of {} numbers; the classifier was trained on {}", found, shape.columns);
  return std::make_unique<InputSource>(x, shape, std::move(targets));
}

LearnedInputs learn_inputs(const Inputs& x, const Labels& labels, std::span<const float> weights,
                           const TextOptions& options) {
  if (x.dense() != nullptr) check_shape(*x.dense());
  check_labels(x, labels);
  LearnedInputs out;
  if (x.texts() != nullptr) {
    ReadOptions reading;
    reading.format = Format::text;
    reading.text = options;
    ReadResult read = read_dataset_from_memory("the texts", text_lines(*x.texts(), labels), reading);
    out.data = std::move(read.data);
    out.text = std::move(read.text);
  } else {
    const uint32_t columns = x.dense() ? x.dense()->columns() : x.sparse()->columns;
    out.data = make_input_source(x, {.columns = columns}, labels.index)->block(0, x.rows());
  }
  out.data.labels = labels.names;
  out.data.weight = checked_weights(weights, x.rows());
  return out;
}

Dataset labelled_rows(const Inputs& x, uint32_t columns, const Labels& labels,
                      std::span<const float> weights) {
  used_labels(x, labels);
  Dataset out = make_input_source(x, {.columns = columns}, labels.index)->block(0, x.rows());
  out.labels = labels.names;
  out.weight = checked_weights(weights, x.rows());
  return out;
}

}  // namespace selfnorm
