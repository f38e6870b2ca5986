#include "data/input/characters.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <cmath>

#include "selfnorm/runtime/text_grams.h"

namespace selfnorm {
namespace {

std::string_view without_plus(std::string_view token) {
  bool plus = token.size() > 1 && token[0] == '+' && token[1] != '-';
  return plus ? token.substr(1) : token;
}

}  // namespace

const char* parse_float_slowly(const char* begin, const char* end, float& value) {
  std::string_view token = without_plus({begin, static_cast<size_t>(end - begin)});
  auto [stop, code] = fast_float::from_chars(token.data(), token.data() + token.size(), value);
  return code == std::errc() && std::isfinite(value) ? stop : nullptr;
}

bool parse_double(std::string_view token, double& value) {
  token = without_plus(token);
  auto [stop, code] = fast_float::from_chars(token.data(), token.data() + token.size(), value);
  return code != std::errc::invalid_argument && stop == token.data() + token.size();
}

bool is_number(std::string_view token) {
  double value = 0;
  return parse_double(token, value);
}

bool has_decimal_comma(std::string_view token) {
  const size_t sign = token.starts_with('-') || token.starts_with('+') ? 1 : 0;
  const size_t comma = token.find_first_not_of("0123456789", sign);
  if (comma == std::string_view::npos || comma == sign || token[comma] != ',') return false;
  const size_t end = std::min(token.find_first_not_of("0123456789", comma + 1), token.size());
  return end > comma + 1 && (end == token.size() || token[end] == 'e' || token[end] == 'E');
}

bool is_missing_word(std::string_view field) {
  if (field.size() > 4) return false;
  const std::string lower = lowercase(field);
  for (const std::string_view word : {"", "na", "n/a", "nan", "null", "none", "?"})
    if (lower == word) return true;
  return false;
}

std::string number_error(std::string_view token) {
  if (token.empty()) return "found an empty value, expected a number";
  if (is_number(token) && token.find_first_of("0123456789") != std::string_view::npos)
    return fmt::format("found {}, too large for a 32-bit float (at most 3.4e38)", quoted_text(token));
  return fmt::format("found {}, expected a finite number", quoted_text(token));
}

size_t utf8_length(std::string_view text) { return runtime::utf8_length(text); }

std::string utf8_repaired(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t n = utf8_length(text);
    out += n > 0 ? text.substr(0, n) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(n > 0 ? n : 1);
  }
  return out;
}

bool is_well_formed(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; })) return true;
  while (!text.empty()) {
    const size_t n = utf8_length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

void append_utf8(uint32_t c, std::string& out) {
  if (c >= 0x110000 || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80u | ((c >> shift) & 0x3Fu)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0u | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0u | (c >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0u | (c >> 18));
    tail(12), tail(6), tail(0);
  }
}

std::string lowercase(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return out;
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return text.substr(0, 0);
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::string quoted_text(std::string_view text) {
  constexpr size_t kLimit = 40;
  std::string out = "'";
  size_t i = 0;
  while (i < text.size() && i < kLimit) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    size_t n = utf8_length(text.substr(i));
    if (n == 0 || c < 0x20 || c == 0x7F) {
      out += c == '\t' ? "\\t" : c == '\n' ? "\\n" : c == '\r' ? "\\r" : fmt::format("\\x{:02x}", c);
      n = 1;
    } else {
      out += text.substr(i, n);
    }
    i += n;
  }
  return out + (i < text.size() ? "'..." : "'");
}

}  // namespace selfnorm
