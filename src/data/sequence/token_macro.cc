#include "token_macro.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "letter_case.h"
#include "selfnorm/base/error.h"
#include "utf8.h"

namespace selfnorm {
namespace {

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
  for (const wchar_t wide : text) {
    const auto c = static_cast<uint32_t>(wide);
    const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80u | (c >> shift & 0x3Fu)); };
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xC0u | c >> 6), tail(0);
    } else if (c < 0x10000) {
      out += static_cast<char>(0xE0u | c >> 12), tail(6), tail(0);
    } else {
      out += static_cast<char>(0xF0u | c >> 18), tail(12), tail(6), tail(0);
    }
  }
  return out;
}

// Upper case A, lower case a, digit 0, other characters beyond ASCII *, others themselves; runs of one become
// one.
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

std::shared_ptr<const re2::RE2> token_pattern(const std::string& text) {
  if (text.size() > kPatternBytes)
    throw Error(fmt::format("it has {} bytes, expected at most {}", text.size(), kPatternBytes));
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemory);
  auto pattern = std::make_shared<re2::RE2>(text, options);
  if (!pattern->ok())
    throw Error(
        fmt::format("{}; expected RE2 syntax, which has no look-ahead, look-behind or back-reference, "
                    "and counts {{n}} that multiply to 1000 at most",
                    pattern->error()));
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
