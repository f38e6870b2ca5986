#include "sequence_format.h"

#include <algorithm>
#include <unordered_set>

#include "token_reader.h"

namespace selfnorm {
namespace {

bool begins_with_digit(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

bool is_named(std::string_view field) { return field.find_first_of(":=") != std::string_view::npos; }

struct Lines {
  size_t lines = 0, columns = 0, fields = 0;  // fields: all but the first of a line
  size_t named = 0;                           // fields with ':' or '='
  size_t named_first = 0;                     // first fields with them
  std::unordered_set<std::string_view> first, last;
  size_t conllu = 0;  // lines with ten columns and an id
  bool is_first_conllu = false, has_tabs = true, is_ragged = false;

  void add(const std::vector<std::string_view>& field, bool has_tab) {
    const bool is_conllu = has_tab && field.size() == kConlluColumns && begins_with_digit(field[0]);
    if (lines++ == 0) {
      columns = field.size();
      is_first_conllu = is_conllu;
    }
    conllu += is_conllu ? 1 : 0;
    has_tabs &= has_tab;
    is_ragged |= field.size() != columns;
    fields += field.size() - 1;
    named += static_cast<size_t>(std::count_if(field.begin() + 1, field.end(), is_named));
    named_first += is_named(field[0]) ? 1 : 0;
    first.insert(field[0]);
    last.insert(field.back());
  }

  // Labels are the few strings of a file: they stand first in attribute files, last in columns. A last field
  // that is always the same, as a bias is, is no label.
  bool is_attributes() const {
    if (!has_tabs || columns < 2 || 2 * named < fields) return false;
    if (is_ragged || (named == fields && columns > 2)) return true;
    if (columns == 2) return named == fields && named_first < lines && first.size() <= last.size();
    return named_first < lines && (first.size() < last.size() || last.size() == 1);
  }
};

}  // namespace

SequenceFormat sequence_format(std::string_view sample) {
  if (sample.size() == kFormatSample) {
    const size_t last_end = sample.rfind('\n');
    if (last_end != std::string_view::npos) sample = sample.substr(0, last_end);
  }
  if (sample.starts_with(kByteOrderMark)) sample.remove_prefix(kByteOrderMark.size());
  Lines all, tokens;  // with what would be comments of CoNLL-U, and without
  while (!sample.empty()) {
    const size_t end = std::min(sample.find('\n'), sample.size());
    const std::string_view line = sample.substr(0, end);
    sample.remove_prefix(std::min(end + 1, sample.size()));
    const std::vector<std::string_view> field = line_fields(line, Separator::tabs_or_blanks);
    if (std::all_of(field.begin(), field.end(), [](std::string_view f) { return f.empty(); })) continue;
    if (parse_mark(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line)) continue;
    const bool has_tab = line.find('\t') != std::string_view::npos;
    all.add(field, has_tab);
    if (!is_conllu_comment(line)) tokens.add(field, has_tab);
  }
  if (tokens.is_first_conllu && 2 * tokens.conllu >= tokens.lines) return SequenceFormat::conllu;
  return all.is_attributes() ? SequenceFormat::attributes : SequenceFormat::columns;
}

}  // namespace selfnorm
