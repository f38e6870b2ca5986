#include "data/input/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/failure.h"
#include "data/input/characters.h"
#include "data/input/sniff.h"

namespace selfnorm {
namespace {

template <class T>
void append_all(StoredArray<T>& to, const std::vector<T>& from) {
  to.append(from);
}
template <class T>
void append_all(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::optional<int64_t> integer(std::string_view label) {
  label = label_key(label);
  int64_t value = 0;
  auto [end, code] = std::from_chars(label.data(), label.data() + label.size(), value);
  bool whole = code == std::errc() && end == label.data() + label.size();
  return whole ? std::optional(value) : std::nullopt;
}

// Returns old number -> new number.
std::vector<uint32_t> sort_labels(std::vector<std::string>& labels) {
  std::vector<int64_t> numbers;
  for (const std::string& label : labels) {
    auto number = integer(label);
    if (!number) break;
    numbers.push_back(*number);
  }
  bool numeric = numbers.size() == labels.size();
  std::vector<uint32_t> order(labels.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return numeric && numbers[a] != numbers[b] ? numbers[a] < numbers[b] : labels[a] < labels[b];
  });
  std::vector<std::string> sorted(labels.size());
  std::vector<uint32_t> rank(labels.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    sorted[i] = std::move(labels[order[i]]);
  }
  labels = std::move(sorted);
  return rank;
}

}  // namespace

Assembly::Assembly(Input& input, const ReadOptions& options, uint64_t first_line)
    : input_(input),
      options_(options),
      bad_(input.name(), options.skip_bad, Place::line),
      line_(first_line),
      bytes_(input.remaining()) {
  if (options.spool.empty()) return;
  const auto file = [&] { return std::make_shared<NumberFile>(options.spool); };
  SparseMatrix& x = features_.sparse;
  x.begin = StoredArray<uint64_t>(file());
  x.begin.push_back(0);
  x.column = StoredArray<uint32_t>(file());
  x.value = StoredArray<float>(file());
  target_ = StoredArray<uint32_t>(file());
}

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
  SparseMatrix& sparse = features_.sparse;
  if (target_.empty() && bytes_ && part.bytes > 0) {
    // 3% more than the first block foretells.
    double blocks = 1.03 * static_cast<double>(*bytes_) / static_cast<double>(part.bytes);
    auto expected = [&](size_t n) { return static_cast<size_t>(blocks * static_cast<double>(n)) + 1; };
    target_.reserve(expected(part.rows()));
    if (!features_.is_sparse) features_.dense.values.reserve(expected(part.value.size()));
    if (features_.is_sparse) {
      sparse.value.reserve(expected(part.value.size()));
      sparse.column.reserve(expected(part.column.size()));
      sparse.begin.reserve(expected(part.rows()) + 1);
    }
  }
  if (features_.is_sparse) {
    uint64_t offset = sparse.column.size();
    for (uint64_t end : part.row_end) sparse.begin.push_back(offset + end);
    append_all(sparse.column, part.column);
    append_all(sparse.value, part.value);
    sparse.columns = std::max(sparse.columns, part.columns);
  } else {
    features_.dense.rows += part.rows();
    append_all(features_.dense.values, part.value);
  }
  append_all(weight_, part.weight);
}

void Assembly::append_targets(Part& part) {
  if (groups_) return append_groups(part);
  std::vector<uint32_t> number;
  for (const std::string& label : part.labels.spellings()) number.push_back(labels_.add(label));
  const bool known = options_.schema != nullptr || options_.classes > 0;
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
  features_.sparse.begin.seal();
  features_.sparse.column.seal();
  features_.sparse.value.seal();
  target_.seal();
  data.features = std::move(features_);
  data.weight = std::move(weight_);
  data.feature_names = std::move(names_);
  if (groups_) {
    left_out_ = groups_->finish(data);
    numbers_ = numbers_without(left_out_);
  } else {
    data.target = std::move(target_);
    set_labels(labels_, options_, data);
  }
  data.numbers = std::move(numbers_);
  UnseenLabels unseen;
  if (options_.keep_unseen && !groups_) unseen = unseen_labels(data, labels_);
  result.report = {format, data.features.rows(), input_.bytes_read(), bad_.take(), std::move(left_out_), {},
                   unseen};
  if (data.features.rows() == 0)
    throw DataError(input_.name(), 0,
                    result.report.bytes == 0    ? kEmptyFile
                    : result.report.bad.empty() ? kNoRows
                                                : "found no good row of data (the bad ones were skipped)");
  if (options_.schema && data.features.is_sparse)
    data.features.sparse.columns = options_.schema->feature_count;
  if (data.features.columns() == 0) throw DataError(input_.name(), 0, "found no features in any row");
  return result;
}

uint32_t LabelTable::add(std::string_view label) {
  uint32_t number = keys_.add(label_key(label));
  if (number == spellings_.size()) spellings_.emplace_back(label);
  return number;
}

LabelRule::LabelRule(const ReadOptions& options)
    : require_(options.require_labels), keep_unseen_(options.keep_unseen), classes_(options.classes) {
  if (options.schema) known_.emplace(options.schema->labels);
}

std::string LabelRule::number(std::string_view label, LabelTable& table, uint32_t& target) const {
  target = Dataset::kNoTarget;
  if (label.empty()) return require_ ? "found an empty label; fill it in, or take the row out" : "";
  if (!known_ && classes_ > 0) {
    const std::optional<uint32_t> k = class_number(label_key(label));
    if (!k || *k >= classes_)
      return with_options(fmt::format("found label {}; expected a whole number from 0 to {} (`classes {}`)",
                                      quoted_text(label), classes_ - 1, classes_));
    target = *k;
    return {};
  }
  if (!known_) {
    target = table.add(label);
    return {};
  }
  auto found = known_->find(label);
  target = found.value_or(keep_unseen_ ? Dataset::kUnseenTarget : Dataset::kNoTarget);
  if (!found && keep_unseen_) table.add(label);
  return found || keep_unseen_ || !require_ ? "" : known_->unseen(label);
}

UnseenLabels unseen_labels(const Dataset& data, const LabelTable& table) {
  UnseenLabels out;
  const auto *begin = data.target.begin(), *end = data.target.end();
  out.examples = static_cast<uint64_t>(std::count(begin, end, Dataset::kUnseenTarget));
  if (out.examples == 0) return out;
  out.first = data.numbers[static_cast<uint64_t>(std::find(begin, end, Dataset::kUnseenTarget) - begin)];
  out.label = table.spellings()[0];
  return out;
}

void set_labels(const LabelTable& table, const ReadOptions& options, Dataset& data) {
  if (options.schema != nullptr || options.classes > 0) {
    data.labels = options.schema != nullptr ? options.schema->labels : ClassNames::numbers(options.classes);
    return;
  }
  std::vector<std::string> labels = table.spellings();
  const std::vector<uint32_t> rank = sort_labels(labels);
  data.labels = labels;
  const auto ranked = [&rank](uint32_t t) { return t == Dataset::kNoTarget ? t : rank[t]; };
  if (!data.target.file()) {
    for (uint32_t& t : data.target.own()) t = ranked(t);
    return;
  }
  StoredArray<uint32_t> target(std::make_shared<NumberFile>(data.target.file()->folder()));
  for_each_piece(data.target, [&](std::span<const uint32_t> numbers) {
    for (const uint32_t t : numbers) target.push_back(ranked(t));
  });
  target.seal();
  data.target = std::move(target);
}

void Groups::row(uint64_t qid, uint64_t line, bool chosen) {
  if (!open_ || qid != qid_) {
    close();
    open_ = true;
    qid_ = qid;
    line_ = line;
    chosen_ = 0;
    choice_ = Dataset::kNoTarget;
    spoilt_ = spoil_next_ || spoilt_qid_ == qid;
    spoilt_qid_.reset();
    if (!seen_.insert(qid).second) {
      bad_.add(
          line,
          fmt::format("found qid:{} again after other groups, expected the rows of a group together", qid));
      spoilt_ = true;
    }
  }
  spoil_next_ = false;
  if (chosen) {
    ++chosen_;
    choice_ = static_cast<uint32_t>(rows_ - begin_.back());
  }
  ++rows_;
}

void Groups::bad_row(std::optional<uint64_t> qid) {
  bool belongs = open_ && (!qid || *qid == qid_);
  spoilt_ = spoilt_ || belongs;
  spoil_next_ = !qid;
  if (qid && !belongs) spoilt_qid_ = qid;
}

void Groups::close() {
  if (!open_) return;
  if (!spoilt_ && (chosen_ > 1 || (chosen_ == 0 && require_choice_))) {
    bad_.add(line_, fmt::format(
                        "found {} chosen alternatives (target > 0) in the group qid:{}, expected exactly one",
                        chosen_, qid_));
    spoilt_ = true;
  }
  if (spoilt_) dropped_.push_back(target_.size());
  begin_.push_back(rows_);
  target_.push_back(choice_);
  open_ = false;
}

std::vector<uint64_t> Groups::finish(Dataset& data) {
  close();
  data.group_begin = std::move(begin_);
  data.target = std::move(target_);
  if (dropped_.empty()) return {};
  std::vector<uint64_t> kept;
  for (uint64_t g = 0; g < data.examples(); ++g)
    if (!std::binary_search(dropped_.begin(), dropped_.end(), g)) kept.push_back(g);
  data = subset(data, kept);
  return std::move(dropped_);
}

void BadRows::add(uint64_t number, const std::string& message) {
  if (rows_.size() < tolerance_) {
    rows_.push_back({number, message});
    return;
  }
  std::string what = place_ == Place::row ? fmt::format("row {}: {}", number, message) : message;
  if (tolerance_ > 0)
    what += fmt::format(" (bad row {}, where {} may be skipped; the first is {} {})", rows_.size() + 1,
                        tolerance_, place_ == Place::row ? "row" : "line", rows_[0].line);
  throw DataError(file_, number, what);
}

std::vector<BadRow> BadRows::take() {
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const BadRow& a, const BadRow& b) { return a.line < b.line; });
  return std::move(rows_);
}

RowNumbers numbers_without(const std::vector<uint64_t>& left_out) {
  RowNumbers numbers;
  for (size_t i = 0; i < left_out.size(); ++i) numbers.skip(left_out[i] - i);
  return numbers;
}

}  // namespace selfnorm
