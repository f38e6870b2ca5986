// A strict pull reader for JSON (RFC 8259) whose structure is known in advance: the caller asks for each
// token, so nesting is bounded by the caller and nothing is stored. Only what headers of model files need: no
// null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace selfnorm::runtime {

class JsonCursor {
 public:
  // `file` names the text in errors, which are FormatError.
  JsonCursor(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  // Takes the character if it is the next token.
  bool accept(char token);
  void expect(char token);
  // A string, decoded to UTF-8. Raw control characters, malformed UTF-8 and lone surrogates are errors.
  std::string string();
  // 0 .. 2^64-1, no sign, no leading zeros, no fraction.
  uint64_t integer();
  // A finite number.
  double number();
  // Nothing but white space may follow.
  void end();

  // "file: header byte N: expected ..., found 'c'"
  [[noreturn]] void fail(const std::string& expected) const;

 private:
  char peek();
  uint32_t hex4();
  void escape(std::string& out);
  void utf8(std::string& out);

  std::string_view text_;
  std::string file_;
  size_t at_ = 0;
};

}  // namespace selfnorm::runtime
