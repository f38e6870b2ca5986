#include "table.h"

#include <fmt/format.h>

#include "fields.h"
#include "number.h"
#include "part.h"
#include "quote.h"
#include "table_layout.h"
#include "table_sample.h"

namespace selfnorm {
namespace {

class TableParser {
 public:
  TableParser(const TableLayout& layout, const ReadOptions& options) : layout_(layout), labels_(options) {}

  Part operator()(std::string_view text) const {
    Part part;
    part.bytes = text.size();
    Fields fields;
    while (!text.empty()) {
      uint64_t line = part.lines, rows = part.rows();
      std::string_view record = take_record(text, layout_.rule, part.lines);
      size_t kept = part.value.size();
      std::string message = record.empty() ? "" : parse(record, fields, part);
      part.count(rows);
      if (message.empty()) continue;
      part.bad.push_back({line, part.rows(), std::move(message), std::nullopt, fields.is_open()});
      part.value.resize(kept);
    }
    return part;
  }

 private:
  std::string parse(std::string_view record, Fields& fields, Part& part) const {
    std::string message = fields.split(record, layout_.rule.separator);
    if (!message.empty()) return message;
    if (fields.size() != layout_.role.size())
      return fmt::format("found {} fields, expected {} as in the first row", fields.size(),
                         layout_.role.size());
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

ReadResult read_table(Input& input, Format format, const ReadOptions& options) {
  return read_table(input, table_layout(input, table_separator(input, format), options), options);
}

ReadResult read_table(Input& input, const TableLayout& layout, const ReadOptions& options) {
  std::string header(layout.header_bytes, '\0');
  read_fully(input, header.data(), header.size());
  Assembly assembly(input, options, layout.first_line);
  assembly.expect_dense(layout.features, layout.names);
  BlockReader reader(input, layout.rule, options.block_bytes);
  assembly.take<Part>(reader, TableParser(layout, options),
                      [&](Part&& part) { assembly.append(std::move(part)); });
  ReadResult result = assembly.finish(layout.rule.separator == '\t' ? Format::tsv : Format::csv);
  result.report.target = layout.target;
  return result;
}

}  // namespace selfnorm
