#include "selfnorm/runtime/json_cursor.h"

#include <charconv>
#include <cmath>

#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm::runtime {
namespace {

void append_code_point(std::string& out, uint32_t c) {
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

bool is_surrogate(uint32_t c) { return c >= 0xD800 && c < 0xE000; }

}  // namespace

void JsonCursor::fail(const std::string& expected) const {
  std::string found = "the end";
  if (at_ < text_.size()) {
    const auto c = static_cast<unsigned char>(text_[at_]);
    const bool printable = c >= 0x20 && c < 0x7F;
    found = printable ? std::string("'") + text_[at_] + "'" : "byte " + std::to_string(c);
  }
  throw FormatError(file_ + ": header byte " + std::to_string(at_) + ": expected " +
                    shortened(expected, 200) + ", found " + found);
}

char JsonCursor::peek() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
  }
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonCursor::accept(char token) {
  if (peek() != token) return false;
  ++at_;
  return true;
}

void JsonCursor::expect(char token) {
  if (!accept(token)) fail(std::string("'") + token + "'");
}

void JsonCursor::end() {
  peek();
  if (at_ != text_.size()) fail("the end of the header");
}

uint64_t JsonCursor::integer() {
  peek();
  uint64_t value = 0;
  const char* begin = text_.data() + at_;
  const auto [last, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) fail("an integer below 2^64");
  if (error != std::errc()) fail("a non-negative integer");
  if (*begin == '0' && last - begin > 1) fail("an integer without leading zeros");
  at_ += static_cast<size_t>(last - begin);
  return value;
}

double JsonCursor::number() {
  const char c = peek();
  double value = 0;
  const char* begin = text_.data() + at_;
  const auto [last, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc() || !std::isfinite(value) || (c != '-' && (c < '0' || c > '9')))
    fail("a finite number");
  at_ += static_cast<size_t>(last - begin);
  return value;
}

std::string JsonCursor::string() {
  expect('"');
  std::string out;
  while (true) {
    if (at_ == text_.size()) fail("'\"' to end the string");
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (c == '"') break;
    if (c < 0x20) fail("a string without control characters");
    if (c == '\\') {
      ++at_;
      escape(out);
    } else if (c < 0x80) {
      out.push_back(text_[at_++]);
    } else {
      utf8(out);
    }
  }
  ++at_;
  return out;
}

void JsonCursor::escape(std::string& out) {
  static constexpr std::string_view kNames = "\"\\/bfnrt";
  static constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  if (at_ == text_.size()) fail("an escape");
  const char c = text_[at_];
  if (const size_t i = kNames.find(c); i != std::string_view::npos) {
    out.push_back(kValues[i]);
    ++at_;
    return;
  }
  if (c != 'u') fail("one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
  ++at_;
  uint32_t code = hex4();
  if (is_surrogate(code)) {
    if (code >= 0xDC00 || text_.substr(at_, 2) != "\\u") fail("a high surrogate followed by a low one");
    at_ += 2;
    const uint32_t low = hex4();
    if (low < 0xDC00 || low >= 0xE000) fail("a low surrogate");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_code_point(out, code);
}

uint32_t JsonCursor::hex4() {
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A' + 10);
    } else {
      fail("four hexadecimal digits");
    }
    code = code << 4 | digit;
  }
  return code;
}

// RFC 3629: 2 to 4 bytes, shortest form, no surrogates, at most U+10FFFF.
void JsonCursor::utf8(std::string& out) {
  const auto lead = static_cast<unsigned char>(text_[at_]);
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead < 0xC2 || lead > 0xF4 || text_.size() - at_ < length) fail("UTF-8");
  uint32_t code = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text_[at_ + i]);
    if ((next & 0xC0) != 0x80) fail("UTF-8");
    code = code << 6 | (next & 0x3F);
  }
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || is_surrogate(code)) fail("UTF-8");
  out.append(text_.substr(at_, length));
  at_ += length;
}

}  // namespace selfnorm::runtime
