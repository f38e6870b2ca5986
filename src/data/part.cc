#include "part.h"

#include <algorithm>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

template <class T>
void append_all(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Assembly::Assembly(const Input& input, const ReadOptions& options, uint64_t first_line)
    : input_(input),
      options_(options),
      bad_(input.name(), options.skip_bad, Place::line),
      line_(first_line),
      bytes_(input.remaining()) {}

void Assembly::expect_dense(uint32_t columns, std::vector<std::string> names) {
  features_.is_sparse = false;
  features_.dense.columns = columns;
  names_ = std::move(names);
}

void Assembly::append(Part&& part) {
  for (const Part::Bad& bad : part.bad) {
    if (groups_) break;
    if (bad.is_fatal) throw DataError(input_.name(), line_ + bad.line, bad.message);
    bad_.add(line_ + bad.line, bad.message);
    left_out_.push_back(target_.size() + bad.row + left_out_.size());
  }
  for (const uint64_t rows : part.not_rows) numbers_.skip(target_.size() + rows);
  append_features(part);
  append_targets(part);
  line_ += part.lines;
}

void Assembly::append_features(Part& part) {
  std::vector<float>& values = features_.is_sparse ? features_.sparse.value : features_.dense.values;
  SparseMatrix& sparse = features_.sparse;
  if (values.empty() && bytes_ && part.bytes > 0) {
    // 3% more than the first block foretells.
    double blocks = 1.03 * static_cast<double>(*bytes_) / static_cast<double>(part.bytes);
    auto expected = [&](size_t n) { return static_cast<size_t>(blocks * static_cast<double>(n)) + 1; };
    values.reserve(expected(part.value.size()));
    target_.reserve(expected(part.rows()));
    if (features_.is_sparse) {
      sparse.column.reserve(expected(part.column.size()));
      sparse.begin.reserve(expected(part.rows()) + 1);
    }
  }
  if (features_.is_sparse) {
    uint64_t offset = sparse.column.size();
    for (uint64_t end : part.row_end) sparse.begin.push_back(offset + end);
    append_all(sparse.column, part.column);
    sparse.columns = std::max(sparse.columns, part.columns);
  } else {
    features_.dense.rows += part.rows();
  }
  append_all(values, part.value);
  append_all(weight_, part.weight);
}

void Assembly::append_targets(Part& part) {
  if (groups_) return append_groups(part);
  std::vector<uint32_t> number;
  for (const std::string& label : part.labels.spellings()) number.push_back(labels_.add(label));
  bool known = options_.schema != nullptr;
  for (uint32_t t : part.target) target_.push_back(known || t == Dataset::kNoTarget ? t : number[t]);
}

void Assembly::append_groups(Part& part) {
  size_t next_bad = 0;
  for (uint64_t row = 0; row <= part.rows(); ++row) {
    for (; next_bad < part.bad.size() && part.bad[next_bad].row == row; ++next_bad) {
      bad_.add(line_ + part.bad[next_bad].line, part.bad[next_bad].message);
      groups_->bad_row(part.bad[next_bad].group);
    }
    if (row < part.rows()) groups_->row(part.group[row], line_ + part.line[row], part.target[row] != 0);
  }
}

ReadResult Assembly::finish(Format format) {
  ReadResult result;
  Dataset& data = result.data;
  data.features = std::move(features_);
  data.weight = std::move(weight_);
  data.feature_names = std::move(names_);
  if (groups_) {
    left_out_ = groups_->finish(data);
    numbers_ = numbers_without(left_out_);
  } else {
    data.target = std::move(target_);
    data.labels = options_.schema ? options_.schema->labels : labels_.spellings();
    if (!options_.schema) {
      std::vector<uint32_t> rank = sort_labels(data.labels);
      for (uint32_t& t : data.target)
        if (t != Dataset::kNoTarget) t = rank[t];
    }
  }
  data.numbers = std::move(numbers_);
  UnseenLabels unseen;
  if (options_.keep_unseen && !groups_) unseen = unseen_labels(data, labels_);
  result.report = {format, data.features.rows(), input_.bytes_read(), bad_.take(), std::move(left_out_), {},
                   unseen};
  if (data.features.rows() == 0)
    throw DataError(input_.name(), 0,
                    result.report.bytes == 0    ? "the file is empty, expected rows of data"
                    : result.report.bad.empty() ? "found no rows of data"
                                                : "found no good row of data (the bad ones were skipped)");
  if (options_.schema && data.features.is_sparse)
    data.features.sparse.columns = options_.schema->feature_count;
  if (data.features.columns() == 0) throw DataError(input_.name(), 0, "found no features in any row");
  return result;
}

}  // namespace selfnorm
