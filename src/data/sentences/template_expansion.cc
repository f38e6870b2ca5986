#include "data/sentences/template_expansion.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/failure.h"
#include "data/input/characters.h"

namespace selfnorm {
namespace {

using ItemKind = TemplateItem::Kind;

constexpr uint32_t kUnknown = UINT32_MAX - 1, kAbsent = UINT32_MAX;
constexpr uint32_t kRemembered = 1u << 20;  // strings, before a stream begins anew

uint32_t& at(std::vector<uint32_t>& list, uint32_t i) {
  if (i >= list.size()) list.resize(std::max<size_t>(i + size_t{1}, 2 * list.size()), kUnknown);
  return list[i];
}

// Simple case mapping of UnicodeData.txt (Unicode 15) for Latin, Greek, Cyrillic and Armenian.

inline constexpr char32_t lower_case(char32_t c) {
  const auto within = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  if (c < 0x80) return within('A', 'Z') ? c + 32 : c;
  if ((within(0xC0, 0xDE) && c != 0xD7) || (within(0x391, 0x3AB) && c != 0x3A2) || within(0x410, 0x42F))
    return c + 32;
  const bool is_even_upper = (within(0x100, 0x137) && c != 0x130) || within(0x14A, 0x177) ||
                             within(0x460, 0x481) || within(0x48A, 0x4BF) || within(0x4D0, 0x52F) ||
                             within(0x1E00, 0x1E95) || within(0x1EA0, 0x1EFF);
  if (c == 0x1E9E) return 0xDF;
  if (is_even_upper) return c | 1u;
  if (within(0x139, 0x148) || within(0x179, 0x17E) || within(0x4C1, 0x4CE)) return c + (c & 1u);
  if (c == 0x178) return 0xFF;
  if (c == 0x4C0) return 0x4CF;
  if (c == 0x386) return 0x3AC;
  if (within(0x388, 0x38A)) return c + 37;
  if (c == 0x38C) return 0x3CC;
  if (within(0x38E, 0x38F)) return c + 63;
  if (within(0x400, 0x40F)) return c + 80;
  if (within(0x531, 0x556)) return c + 48;
  return c;
}

inline constexpr bool is_upper_case(char32_t c) { return lower_case(c) != c; }

// The lower case of another letter, or sharp s.
inline constexpr bool is_lower_case(char32_t c) {
  if (c == 0xDF || c == 0xFF) return true;
  for (const char32_t shift : {1u, 15u, 32u, 37u, 38u, 48u, 63u, 64u, 80u})
    if (c > shift && c - shift >= 'A' && lower_case(c - shift) == c) return true;
  return false;
}

static_assert(sizeof(wchar_t) == sizeof(char32_t), "a wide character is a code point");

// Code points of UTF-8.
std::wstring decoded(std::string_view text) {
  std::wstring out;
  while (!text.empty()) {
    const size_t n = std::max<size_t>(1, utf8_length(text));
    uint32_t c = static_cast<unsigned char>(text[0]);
    if (n > 1) c &= 0x7Fu >> n;
    for (size_t i = 1; i < n; ++i) c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
    out += static_cast<wchar_t>(c);
    text.remove_prefix(n);
  }
  return out;
}

std::string encoded(std::wstring_view text) {
  std::string out;
  for (const wchar_t c : text) append_utf8(static_cast<uint32_t>(c), out);
  return out;
}

// Upper case A, lower case a, digit 0, beyond ASCII *, others themselves; runs become one.
std::wstring shape(const std::wstring& token) {
  std::wstring out;
  for (const wchar_t wide : token) {
    const auto c = static_cast<char32_t>(wide);
    const wchar_t class_of = is_upper_case(c)            ? L'A'
                             : is_lower_case(c)          ? L'a'
                             : wide >= L'0' && c <= U'9' ? L'0'
                             : c >= 0x80                 ? L'*'
                                                         : wide;
    if (out.empty() || out.back() != class_of) out += class_of;
  }
  return out;
}

// Where the first n characters end; nothing when there are fewer.
std::optional<size_t> prefix_end(std::string_view token, uint32_t n) {
  size_t end = 0;
  for (; n > 0 && end < token.size(); --n) end += std::max<size_t>(1, utf8_length(token.substr(end)));
  return n == 0 ? std::optional(end) : std::nullopt;
}

std::optional<size_t> suffix_begin(std::string_view token, uint32_t n) {
  size_t begin = token.size();
  for (; n > 0 && begin > 0; --n) {
    --begin;
    while (begin > 0 && (static_cast<unsigned char>(token[begin]) & 0xC0u) == 0x80u) --begin;
  }
  return n == 0 ? std::optional(begin) : std::nullopt;
}

// The first kPatternCharacters characters.
std::string_view searched(std::string_view token) {
  return token.substr(0, prefix_end(token, kPatternCharacters).value_or(token.size()));
}

}  // namespace

TemplateExpansion::TemplateExpansion(const FeatureTemplates& templates, bool is_bigram, uint32_t missing) {
  for (const FeatureTemplate& one : templates.list) {
    if (one.is_bigram != is_bigram || (is_bigram && one.items.size() == 1)) continue;
    Template out;
    out.name = one.items[0].text;
    for (const TemplateItem& item : std::span(one.items).subspan(1)) {
      if (item.kind == ItemKind::literal) {
        out.values.back().literal = item.text;
        continue;
      }
      const uint32_t column = item.column - (item.column > missing ? 1 : 0);
      out.values.push_back({macro_number(item), column_number(column), item.row, {}});
    }
    template_.push_back(std::move(out));
  }
  cell_.resize(column_.size());
}

uint32_t TemplateExpansion::macro_number(const TemplateItem& item) {
  const auto same = std::find_if(macro_.begin(), macro_.end(), [&](const Macro& m) {
    return m.item.kind == item.kind && m.item.count == item.count && m.item.text == item.text;
  });
  if (same == macro_.end()) {
    macro_.push_back({TokenMacro(item), item, {}});
    return static_cast<uint32_t>(macro_.size() - 1);
  }
  return static_cast<uint32_t>(same - macro_.begin());
}

uint32_t TemplateExpansion::column_number(uint32_t column) {
  const auto same = std::find(column_.begin(), column_.end(), column);
  const auto number = static_cast<uint32_t>(same - column_.begin());
  if (same == column_.end()) column_.push_back(column);
  return number;
}

void TemplateExpansion::forget() {
  strings_ = {};
  for (Macro& macro : macro_) macro.value.clear();
  for (Template& one : template_) one.attribute.clear();
}

void TemplateExpansion::begin(const TokenLines& sentence) {
  if (strings_.size() > kRemembered) forget();
  for (size_t c = 0; c < column_.size(); ++c) {
    cell_[c].clear();
    for (size_t t = 0; t < sentence.size(); ++t)
      cell_[c].push_back(strings_.add(sentence.field(t, column_[c])));
  }
}

uint32_t TemplateExpansion::boundary(int64_t beyond) { return strings_.add(fmt::format("_B{:+}", beyond)); }

uint32_t TemplateExpansion::value(const Value& place, size_t position) {
  const std::vector<uint32_t>& cells = cell_[place.column];
  const auto length = static_cast<int64_t>(cells.size());
  const int64_t t = static_cast<int64_t>(position) + place.row;
  if (t < 0) return boundary(t);
  if (t >= length) return boundary(t - length + 1);
  Macro& macro = macro_[place.macro];
  const uint32_t token = cells[static_cast<size_t>(t)];
  if (macro.item.kind == ItemKind::cell) return token;
  uint32_t& known = at(macro.value, token);
  if (known == kUnknown) {
    const auto made = macro.of(strings_[token]);
    known = made ? strings_.add(*made) : kAbsent;
  }
  return known;
}

void TemplateExpansion::expand(size_t position, AttributeNumbers& numbers, std::vector<uint32_t>& out) {
  for (Template& one : template_) {
    const bool is_single = one.values.size() <= 1;
    text_ = one.name;
    uint32_t last = 0;
    for (const Value& place : one.values) {
      last = value(place, position);
      if (last == kAbsent) break;
      if (is_single && at(one.attribute, last) != kUnknown) break;
      text_.append(strings_[last]).append(place.literal);
    }
    if (last == kAbsent) continue;
    uint32_t number = is_single ? at(one.attribute, last) : kUnknown;
    if (number == kUnknown) number = numbers(text_);
    if (is_single) one.attribute[last] = number;
    if (number != AttributeNumbers::kNone) out.push_back(number);
  }
}

std::shared_ptr<const re2::RE2> token_pattern(const std::string& text) {
  if (text.size() > kPatternBytes)
    throw_error("it has {} bytes, expected at most {}", text.size(), kPatternBytes);
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  auto pattern = std::make_shared<re2::RE2>(text, options);
  if (!pattern->ok())
    throw_error(
        "{}; expected RE2 syntax, which has no look-ahead, look-behind or back-reference, and counts {{n}} "
        "that multiply to 1000 at most",
        pattern->error());
  return pattern;
}

TokenMacro::TokenMacro(const TemplateItem& item) : kind_(item.kind), count_(item.count) {
  if (kind_ == TemplateItem::Kind::match || kind_ == TemplateItem::Kind::test)
    pattern_ = token_pattern(item.text);
}

std::optional<std::string> TokenMacro::operator()(std::string_view token) const {
  using Kind = TemplateItem::Kind;
  switch (kind_) {
    case Kind::prefix: {
      const auto end = prefix_end(token, count_);
      return end ? std::optional<std::string>(token.substr(0, *end)) : std::nullopt;
    }
    case Kind::suffix: {
      const auto begin = suffix_begin(token, count_);
      return begin ? std::optional<std::string>(token.substr(*begin)) : std::nullopt;
    }
    case Kind::shape:
      return encoded(shape(decoded(token)));
    case Kind::lower: {
      std::wstring wide = decoded(token);
      for (wchar_t& c : wide) c = static_cast<wchar_t>(lower_case(static_cast<char32_t>(c)));
      return encoded(wide);
    }
    case Kind::match: {
      const std::string_view text = searched(token);
      re2::StringPiece found;
      pattern_->Match({text.data(), text.size()}, 0, text.size(), re2::RE2::UNANCHORED, &found, 1);
      return std::string(found.data(), found.size());
    }
    case Kind::test: {
      const std::string_view text = searched(token);
      return re2::RE2::PartialMatch({text.data(), text.size()}, *pattern_) ? "1" : "0";
    }
    default:
      return std::string(token);
  }
}

}  // namespace selfnorm
