#include "records.h"

#include <algorithm>

namespace selfnorm {

size_t whole_records(std::string_view text, RecordRule rule) {
  if (rule.separator == RecordRule::kNone || text.find('"') == std::string_view::npos)
    return text.rfind('\n') + 1;
  size_t whole = 0;
  for (;;) {
    size_t end = record_end(text.substr(whole), rule);
    if (end == std::string_view::npos) return whole;
    whole += end + 1;
  }
}

std::string_view take_record(std::string_view& text, RecordRule rule, uint64_t& lines) {
  size_t end = record_end(text, rule);
  bool complete = end != std::string_view::npos;
  std::string_view record = text.substr(0, end);
  lines += complete ? 1 : 0;
  if (rule.separator != RecordRule::kNone)
    lines += static_cast<uint64_t>(std::count(record.begin(), record.end(), '\n'));
  text.remove_prefix(complete ? end + 1 : text.size());
  if (record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

}  // namespace selfnorm
