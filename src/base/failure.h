// Errors (selfnorm/error.h) with formatted messages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "selfnorm/error.h"

namespace selfnorm {

// Options in backquotes, with a value or without, in the words of whoever asked: "use `device cpu`" is "use
// --device cpu" to the program and "use device=cpu" to Python (option_table.h).
std::string with_options(std::string_view text);

// Formatted; the options are those of the message, not of the values.
template <class... T>
std::string worded(fmt::format_string<T...> message, T&&... values) {
  const fmt::string_view text = message;
  return fmt::vformat(with_options({text.data(), text.size()}), fmt::make_format_args(values...));
}

template <class... T>
[[noreturn]] void throw_error(fmt::format_string<T...> message, T&&... values) {
  throw Error(worded(message, std::forward<T>(values)...));
}

// A DataError: at a line of a file, or 0.
template <class... T>
[[noreturn]] void throw_at(const std::string& file, uint64_t line, fmt::format_string<T...> message,
                           T&&... values) {
  throw DataError(file, line, worded(message, std::forward<T>(values)...));
}

// Throws Error("name = value is out of range; expected ...") unless `good` and the value is finite.
void require_range(bool good, const char* name, double value, const char* expected);

// Throws Error("name 'value' is not known; expected one of ...") unless value is one of the choices.
void require_one_of(const char* name, const std::string& value, const std::vector<std::string>& choices);

}  // namespace selfnorm
