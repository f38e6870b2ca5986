#include "data/table/table.h"

#include <fmt/format.h>

#include "base/failure.h"
#include "data/input/characters.h"
#include "data/input/part.h"
#include "data/table/table_sample.h"

namespace selfnorm {
namespace {

class Layout {
 public:
  Layout(const std::string& file, const TableSample& s, const ReadOptions& options)
      : columns_(file, s, options.header), sample_(s), options_(options), header_(columns_.has_header()) {
    if (options.schema && header_ && !options.schema->feature_names.empty())
      known_.emplace(options.schema->feature_names);
  }

  TableLayout build(RecordRule rule) {
    TableLayout layout;
    layout.rule = rule;
    auto weight = options_.weight_column.empty()
                      ? std::nullopt
                      : std::optional(columns_.column(options_.weight_column, "weight"));
    if (!options_.schema) columns_.refuse_decimal_commas({options_.target});
    if (known_)
      columns_.require(options_.schema->feature_names,
                       is_full(weight) && options_.require_labels && options_.target.empty()
                           ? options_.schema->target
                           : "");
    auto target = find_target(weight);
    if (!target && options_.require_labels && is_full(weight))
      columns_.fail(fmt::format("found {} columns, as many as the model has features, and no target; {}",
                                options_.schema->feature_count, columns_.describe()));
    if (!target && options_.require_labels) columns_.fail_without_label();
    if (target && target == weight) columns_.fail("found the same column as target and as weight");
    layout.has_target = target.has_value();
    if (target) layout.target = header_ ? sample_.first[*target] : std::to_string(*target);
    layout.has_weight = weight.has_value();
    for (uint32_t c = 0; c < sample_.first.size(); ++c) {
      if (target == c) {
        layout.role.push_back(TableLayout::kTarget);
      } else if (weight == c) {
        layout.role.push_back(TableLayout::kWeight);
      } else {
        const std::optional<uint32_t> feature =
            known_ ? known_->find(sample_.first[c]) : std::optional(layout.features);
        layout.role.push_back(feature.value_or(TableLayout::kDropped));
        if (!feature) continue;
        ++layout.features;
        if (header_) layout.names.push_back(sample_.first[c]);
      }
    }
    check_features(layout);
    layout.advice =
        with_options(" (a column of texts is read by `text COLUMN`, one of words by `categorical COLUMN`)");
    if (header_) layout.header_bytes = sample_.first_bytes, layout.first_line = sample_.next_line;
    return layout;
  }

 private:
  std::optional<uint32_t> find_target(std::optional<uint32_t> weight) const {
    if (!options_.target.empty()) {
      bool absent = known_ && !options_.require_labels && !columns_.named(options_.target);
      return absent ? std::nullopt : std::optional(columns_.column(options_.target, "target"));
    }
    uint32_t columns = static_cast<uint32_t>(sample_.first.size());
    std::vector<uint32_t> unknown, wordy;
    for (uint32_t c = 0; c < columns; ++c) {
      if (weight == c) continue;
      if (known_ && !known_->find(sample_.first[c])) unknown.push_back(c);
      if (header_ ? sample_.later > 0 && !sample_.has_number[c]
                  : !sample_.has_number[c] && !is_number(sample_.first[c]))
        wordy.push_back(c);
    }
    if (auto trained = trained_target(weight)) return trained;
    if (known_) return preferred(unknown);
    if (is_full(weight) && !options_.require_labels) return std::nullopt;
    for (std::string_view name : target_names())
      for (uint32_t c = 0; header_ && c < columns; ++c)
        if (lowercase(sample_.first[c]) == name) return c;
    if (is_full(weight)) return std::nullopt;
    if (auto index = trained_index()) return index;
    if (wordy.size() == 1) return wordy[0];
    if (header_ || columns == 1) return std::nullopt;
    if (options_.schema)
      columns_.fail(worded(
          "cannot tell which of the {} columns is the target: there is no header; give its index (`target`)",
          columns));
    return weight == 0u ? 1u : 0u;
  }

  // As many columns as the model has features: none is left for a target.
  bool is_full(std::optional<uint32_t> weight) const {
    return options_.schema && sample_.first.size() - (weight ? 1 : 0) == options_.schema->feature_count;
  }

  // The column with the name, or without a header the index, of the target in training.
  std::optional<uint32_t> trained_target(std::optional<uint32_t> weight) const {
    if (!options_.schema || options_.schema->target.empty() || is_full(weight)) return std::nullopt;
    return header_ ? columns_.named(options_.schema->target) : trained_index();
  }

  std::optional<uint32_t> trained_index() const {
    if (!options_.schema || options_.schema->target.empty()) return std::nullopt;
    return columns_.indexed(options_.schema->target);
  }

  // Of the columns that the model does not know, the one with a target's name, or the only one.
  std::optional<uint32_t> preferred(const std::vector<uint32_t>& columns) const {
    for (std::string_view name : target_names())
      for (uint32_t c : columns)
        if (lowercase(sample_.first[c]) == name) return c;
    return columns.size() == 1 ? std::optional(columns[0]) : std::nullopt;
  }

  void check_features(TableLayout& layout) const {
    if (layout.features == 0) columns_.fail(fmt::format("found no feature columns; {}", columns_.describe()));
    if (!options_.schema) return;
    if (known_) layout.names = options_.schema->feature_names;
    if (layout.features != options_.schema->feature_count)
      columns_.fail(fmt::format("found {} feature columns, but the model has {} features", layout.features,
                                options_.schema->feature_count));
  }

  TableColumns columns_;
  const TableSample& sample_;
  const ReadOptions& options_;
  bool header_;
  std::optional<StringIndex> known_;
};

class TableParser {
 public:
  TableParser(const TableLayout& layout, const ReadOptions& options) : layout_(layout), labels_(options) {}

  Part operator()(std::string_view text) const {
    Fields fields;
    return parse_records(text, layout_.rule, Part(),
                         [&](std::string_view record, Part::Bad& bad, Part& part) {
                           std::string message = parse(record, fields, part);
                           bad.is_fatal = fields.is_open();
                           return message;
                         });
  }

 private:
  std::string parse(std::string_view record, Fields& fields, Part& part) const {
    std::string message = fields.split(record, layout_.rule.separator);
    if (!message.empty()) return message;
    if (fields.size() != layout_.role.size())
      return fields.count_error(layout_.role.size(), layout_.rule.separator);
    size_t begin = part.value.size();
    part.value.resize(begin + layout_.features);
    float weight = 0;
    std::string_view label;
    for (size_t c = 0; c < fields.size(); ++c) {
      uint32_t role = layout_.role[c];
      if (role == TableLayout::kTarget) {
        label = fields[c];
        continue;
      }
      if (role == TableLayout::kDropped) continue;
      float value = 0;
      const char* end = fields[c].data() + fields[c].size();
      if (fields[c].empty() || parse_float(fields[c].data(), end, value) != end) [[unlikely]]
        return fmt::format("in {}: {}{}", column_name(c), number_error(fields[c]),
                           fields[c].empty() || is_number(fields[c]) ? "" : layout_.advice);
      if (role != TableLayout::kWeight) {
        part.value[begin + role] = value;
      } else if (value >= 0) {
        weight = value;
      } else {
        return fmt::format("in {}: found {}, expected a weight of at least 0", column_name(c),
                           quoted_text(fields[c]));
      }
    }
    uint32_t target = Dataset::kNoTarget;
    message = labels_.number(label, part.labels, target);
    if (!message.empty()) return message;
    part.target.push_back(target);
    if (layout_.has_weight) part.weight.push_back(weight);
    return {};
  }

  std::string column_name(size_t c) const {
    bool named = layout_.role[c] < layout_.names.size();
    return named ? "column " + quoted_text(layout_.names[layout_.role[c]]) : fmt::format("column {}", c);
  }

  const TableLayout& layout_;
  LabelRule labels_;
};

}  // namespace

TableLayout table_layout(Input& input, char separator, const ReadOptions& options) {
  RecordRule rule{separator};
  const TableSample s = table_sample(input, rule);
  return Layout(input.name(), s, options).build(rule);
}

ReadResult read_table(Input& input, Format format, const ReadOptions& options) {
  return read_table(input, table_layout(input, table_separator(input, format), options), options);
}

ReadResult read_table(Input& input, const TableLayout& layout, const ReadOptions& options) {
  input.skip(layout.header_bytes);
  Assembly assembly(input, options, layout.first_line);
  assembly.expect_dense(layout.features, layout.names);
  assembly.take(layout.rule, TableParser(layout, options));
  ReadResult result = assembly.finish(layout.rule.separator == '\t' ? Format::tsv : Format::csv);
  result.report.target = layout.target;
  if (layout.header_bytes == 0 && !options.schema && options.target.empty() && layout.has_target)
    result.report.notes.push_back(worded(
        "there is no header: column {}, counted from 0, is taken as the label (`target` says otherwise)",
        layout.target));
  if (options.schema && !options.schema->target.empty() && options.require_labels && options.target.empty() &&
      layout.header_bytes > 0 && layout.has_target && layout.target != options.schema->target)
    result.report.notes.push_back(
        worded("column {} is taken as the label, because there is no {} (`target` says otherwise)",
               quoted_text(layout.target), quoted_text(options.schema->target)));
  return result;
}

}  // namespace selfnorm
