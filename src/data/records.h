// Where records end. Line formats: at every line feed. Tables (RFC 4180): at a line feed outside quotes,
// where a quote opens only at the start of a field and "" inside quotes is a quote.
#pragma once

#include <cstdint>
#include <string_view>

namespace selfnorm {

// kNone: lines; otherwise the separator of a table.
struct RecordRule {
  static constexpr char kNone = '\0';
  char separator = kNone;
};

// The line feed that ends the record at the start of `text`, as an offset; npos when the record is not
// complete.
inline size_t record_end(std::string_view text, RecordRule rule) {
  if (rule.separator == RecordRule::kNone) return text.find('\n');
  for (size_t from = 0;;) {
    size_t line_end = text.find('\n', from);
    size_t quote = text.substr(0, line_end).find('"', from);
    if (quote == std::string_view::npos) return line_end;
    from = quote + 1;
    if (quote > 0 && text[quote - 1] != rule.separator) continue;
    for (;;) {
      size_t close = text.find('"', from);
      if (close == std::string_view::npos || close + 1 == text.size()) return std::string_view::npos;
      from = close + 1;
      if (text[from] != '"') break;
      ++from;
    }
  }
}

// Length of the longest prefix made of whole records.
size_t whole_records(std::string_view text, RecordRule rule);

// Takes the record at the start of `text` off it: without its line feed, carriage return before it. `lines`
// grows by the line feeds it spans. A table record that never ends is the whole rest.
std::string_view take_record(std::string_view& text, RecordRule rule, uint64_t& lines);

}  // namespace selfnorm
