#include "sequence_format.h"

#include <algorithm>

#include "token_reader.h"

namespace selfnorm {
namespace {

bool begins_with_digit(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

}  // namespace

SequenceFormat sequence_format(std::string_view sample) {
  if (sample.size() == kFormatSample) {
    const size_t last_end = sample.rfind('\n');
    if (last_end != std::string_view::npos) sample = sample.substr(0, last_end);
  }
  if (sample.starts_with(kByteOrderMark)) sample.remove_prefix(kByteOrderMark.size());
  bool is_conllu = true, has_tabs = true, is_ragged = false;
  size_t tokens = 0, columns = 0, fields = 0, named = 0;
  while (!sample.empty()) {
    const size_t end = std::min(sample.find('\n'), sample.size());
    const std::string_view line = sample.substr(0, end);
    sample.remove_prefix(std::min(end + 1, sample.size()));
    const std::vector<std::string_view> field = line_fields(line, Separator::tabs_or_blanks);
    if (std::all_of(field.begin(), field.end(), [](std::string_view f) { return f.empty(); })) continue;
    const bool is_comment = is_conllu_comment(line);
    const bool has_tab = line.find('\t') != std::string_view::npos;
    is_conllu &= is_comment || (has_tab && field.size() == kConlluColumns && begins_with_digit(field[0]));
    if (is_conllu && is_comment) continue;
    has_tabs &= has_tab;
    if (tokens++ == 0) columns = field.size();
    is_ragged |= field.size() != columns;
    fields += field.size() - 1;
    named += static_cast<size_t>(std::count_if(field.begin() + 1, field.end(), [](std::string_view f) {
      return f.find_first_of(":=") != std::string_view::npos;
    }));
  }
  if (is_conllu && tokens > 0) return SequenceFormat::conllu;
  if (has_tabs && is_ragged && 2 * named >= fields) return SequenceFormat::attributes;
  return SequenceFormat::columns;
}

}  // namespace selfnorm
