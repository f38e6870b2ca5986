#include "selfnorm/data/sequence/labelling_mark.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace selfnorm {
namespace {

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  text = std::string_view(rest, static_cast<size_t>(end - rest));
  return error == std::errc();
}

bool is_kind(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

std::string mark_line(const LabellingMark& mark) {
  std::string line = fmt::format("# sentence={} rank={}", mark.sentence, mark.rank);
  if (mark.score) line += fmt::format(" log_prob={} kind={}", mark.score->log_prob, mark.score->kind);
  return line;
}

std::optional<LabellingMark> parse_mark(std::string_view line) {
  LabellingMark mark;
  if (!take(line, "# sentence=") || !take_number(line, mark.sentence)) return {};
  if (!take(line, " rank=") || !take_number(line, mark.rank) || mark.rank == 0) return {};
  if (line.empty()) return mark;
  LabellingMark::Score score{0, {}};
  if (!take(line, " log_prob=") || !take_number(line, score.log_prob) || !std::isfinite(score.log_prob))
    return {};
  if (!take(line, " kind=") || !is_kind(line)) return {};
  score.kind = line;
  mark.score = std::move(score);
  return mark;
}

}  // namespace selfnorm
