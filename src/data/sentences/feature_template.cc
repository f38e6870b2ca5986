#include "data/sentences/feature_template.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>

#include "data/input/characters.h"
#include "data/sentences/template_expansion.h"
#include "data/sentences/token_reader.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

using ItemKind = TemplateItem::Kind;

constexpr uint64_t kFarthestRow = 1000, kLastColumn = 9999, kLongestAffix = 100;
constexpr std::string_view kMacros =
    "%x[row,column], %l[row,column], %h[row,column], %p[row,column,n], %s[row,column,n], "
    "%m[row,column,\"regex\"] or %t[row,column,\"regex\"]";

// The regular expressions of a file, and their instructions: the steps that a character of a token costs.
struct Programs {
  std::set<std::string> known;
  uint64_t size = 0;
};
constexpr uint64_t kLargestPrograms = uint64_t{1} << 16;

// The macros of one line of a template file.
class LineParser {
 public:
  LineParser(std::string_view line, const std::string& name, uint64_t number, Programs& programs)
      : text_(line), rest_(text_), name_(name), line_(number), programs_(programs) {}

  FeatureTemplate parse() {
    FeatureTemplate out;
    out.line = line_;
    if (std::string_view("UuBb*").find(text_[0]) == std::string_view::npos)
      fail(
          fmt::format("found {}, expected a template that begins with U (unigram), B (bigram) or * (both), "
                      "such as U00:%x[0,0], or a comment that begins with #",
                      quoted_text(text_)));
    out.is_bigram = text_[0] == 'B' || text_[0] == 'b';
    do {
      out.items.push_back(rest_[0] == '%' ? macro() : literal());
    } while (!rest_.empty());
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw DataError(name_, line_, what); }
  [[noreturn]] void fail_at(std::string_view place) const {
    fail(fmt::format("found {}, expected a macro: {}", quoted_text(place), kMacros));
  }

  TemplateItem literal() {
    const size_t end = std::min(rest_.find('%'), rest_.size());
    TemplateItem item{ItemKind::literal, std::string(rest_.substr(0, end))};
    rest_.remove_prefix(end);
    return item;
  }

  TemplateItem macro() {
    place_ = rest_;
    TemplateItem item;
    item.kind = kind();
    expect('[');
    const bool is_negative = take('-');
    if (!is_negative) take('+');
    const auto row = static_cast<int>(number("row", kFarthestRow));
    item.row = is_negative ? -row : row;
    expect(',');
    item.column = static_cast<uint32_t>(number("column", kLastColumn));
    if (item.kind == ItemKind::prefix || item.kind == ItemKind::suffix) {
      expect(',');
      item.count = static_cast<uint32_t>(number("number of characters", kLongestAffix));
      if (item.count == 0)
        fail(fmt::format("found no characters in {}, expected 1 or more", quoted_text(place_)));
    } else if (item.kind == ItemKind::match || item.kind == ItemKind::test) {
      expect(',');
      item.text = pattern();
    }
    expect(']');
    return item;
  }

  ItemKind kind() {
    static constexpr std::string_view kLetters = "xlXhpsmt";
    static constexpr ItemKind kKinds[] = {ItemKind::cell,  ItemKind::lower,  ItemKind::lower,
                                          ItemKind::shape, ItemKind::prefix, ItemKind::suffix,
                                          ItemKind::match, ItemKind::test};
    const size_t place = rest_.size() > 1 ? kLetters.find(rest_[1]) : std::string_view::npos;
    if (place == std::string_view::npos) fail_at(place_);
    rest_.remove_prefix(2);
    return kKinds[place];
  }

  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    while (take(' ')) {
    }
    if (!take(c)) fail_at(place_);
    while (take(' ')) {
    }
  }

  uint64_t number(std::string_view what, uint64_t limit) {
    uint64_t value = 0;
    const char* const end = parse_natural(rest_.data(), rest_.data() + rest_.size(), value);
    if (rest_.empty() || end == nullptr) fail_at(place_);
    if (value > limit)
      fail(fmt::format("found a {} of {} in {}, expected at most {}", what, value, quoted_text(place_),
                       limit));
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  // "..." in which \" is a quote and every other \ belongs to the expression.
  std::string pattern() {
    if (!take('"')) fail_at(place_);
    std::string out;
    while (!rest_.empty() && rest_[0] != '"') {
      if (rest_[0] == '\\' && rest_.size() > 1) {
        if (rest_[1] != '"') out += '\\';
        rest_.remove_prefix(1);
      }
      out += rest_[0];
      rest_.remove_prefix(1);
    }
    if (!take('"')) fail_at(place_);
    try {
      if (const auto [place, is_new] = programs_.known.insert(out); is_new)
        programs_.size += static_cast<uint64_t>(token_pattern(out)->ProgramSize());
    } catch (const Error& error) {
      fail(fmt::format("the regular expression {} cannot be used: {}", quoted_text(out), error.what()));
    }
    if (programs_.size > kLargestPrograms)
      fail(fmt::format("the regular expressions up to here take {} steps a character, expected at most {}",
                       programs_.size, kLargestPrograms));
    return out;
  }

  std::string text_;  // ends with a zero byte, where numbers stop
  std::string_view rest_, place_;
  const std::string& name_;
  uint64_t line_;
  Programs& programs_;
};

// Templates numbered in the order they are written.
class Writer {
 public:
  explicit Writer(std::string_view title) : text_(fmt::format("# {}\n", title)) {}

  void add(const std::string& macros) { text_ += fmt::format("U{:02}:{}\n", number_++, macros); }
  std::string with_transitions() const { return text_ + "B\n"; }

 private:
  std::string text_;
  int number_ = 0;
};

// The word at rows -2 .. 2 and pairs of neighbours.
void add_neighbours(Writer& out, uint32_t c) {
  for (int row = -2; row <= 2; ++row) out.add(fmt::format("%x[{},{}]", row, c));
  out.add(fmt::format("%x[-1,{}]/%x[0,{}]", c, c));
  out.add(fmt::format("%x[0,{}]/%x[1,{}]", c, c));
}

void add_spelling(Writer& out, uint32_t c) {
  out.add(fmt::format("%l[0,{}]", c));
  for (int n = 1; n <= 4; ++n) out.add(fmt::format("%p[0,{},{}]", c, n));
  for (int n = 1; n <= 4; ++n) out.add(fmt::format("%s[0,{},{}]", c, n));
  out.add(fmt::format("%h[0,{}]", c));
  out.add(fmt::format("%t[0,{},\"[0-9]\"]", c));
  out.add(fmt::format("%t[0,{},\"-\"]", c));
  out.add(fmt::format("%t[0,{},\"[A-Z]\"]", c));
}

}  // namespace

uint32_t FeatureTemplates::columns() const {
  uint32_t columns = 0;
  for (const FeatureTemplate& one : list)
    for (const TemplateItem& item : one.items)
      if (item.kind != ItemKind::literal) columns = std::max(columns, item.column + 1);
  return columns;
}

bool FeatureTemplates::has_transitions() const {
  return std::any_of(list.begin(), list.end(),
                     [](const FeatureTemplate& one) { return one.is_bigram && one.items.size() == 1; });
}

FeatureTemplates parse_templates(const std::string& text, const std::string& name) {
  FeatureTemplates out;
  out.text = text;
  uint64_t number = 0;
  Programs programs;
  std::string_view rest = text;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end), " \t\r");
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.find('\0') != std::string_view::npos)
      throw DataError(name, number, "found a NUL byte, expected a template such as U00:%x[0,0]");
    if (line.empty() || line[0] == '#') continue;
    out.list.push_back(LineParser(line, name, number, programs).parse());
    if (line[0] != '*') continue;
    out.list.push_back(out.list.back());
    out.list.back().is_bigram = true;
  }
  if (out.list.empty())
    throw DataError(name, 0, "found no template, expected lines such as U00:%x[0,0] and B");
  return out;
}

std::string tagging_templates(uint32_t column) {
  Writer out("tagging by the word: neighbours, lower case, affixes, shape, digits, hyphens, capitals");
  add_neighbours(out, column);
  add_spelling(out, column);
  return out.with_transitions();
}

std::string chunking_templates(std::span<const uint32_t> columns) {
  Writer out("chunks and entities: the word, its neighbours and spelling; the other columns around it");
  const uint32_t word = columns.front();
  add_neighbours(out, word);
  add_spelling(out, word);
  for (const int row : {-1, 1}) {
    out.add(fmt::format("%l[{},{}]", row, word));
    out.add(fmt::format("%h[{},{}]", row, word));
  }
  out.add(fmt::format("%h[-1,{}]/%h[0,{}]/%h[1,{}]", word, word, word));
  for (const uint32_t c : columns.subspan(1)) {
    for (int row = -2; row <= 2; ++row) out.add(fmt::format("%x[{},{}]", row, c));
    for (int row = -2; row <= 1; ++row) out.add(fmt::format("%x[{},{}]/%x[{},{}]", row, c, row + 1, c));
    for (int row = -2; row <= 0; ++row)
      out.add(fmt::format("%x[{},{}]/%x[{},{}]/%x[{},{}]", row, c, row + 1, c, row + 2, c));
    out.add(fmt::format("%x[0,{}]/%x[0,{}]", word, c));
  }
  return out.with_transitions();
}

}  // namespace selfnorm
