// Options by name: the names, defaults and meanings of the command line (docs/reference.md) without dashes,
//     {{"objective", "penalty"}, {"alpha", 0.1}, {"calibrate", false}}.
#pragma once

#include <charconv>
#include <concepts>
#include <map>
#include <string>

namespace selfnorm {

// A value as it is written: a number, a word, true or false.
class OptionValue {
 public:
  OptionValue(std::string text) : text_(std::move(text)) {}
  OptionValue(const char* text) : text_(text) {}
  OptionValue(bool value) : text_(value ? "true" : "false") {}
  template <class Number>
  requires std::integral<Number> || std::floating_point<Number> OptionValue(Number value) {
    char room[64];  // shortest digits that read back the same, in no locale
    text_.assign(room, std::to_chars(room, room + sizeof room, +value).ptr);
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

using Options = std::map<std::string, OptionValue>;

}  // namespace selfnorm
