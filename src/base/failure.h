// Errors (selfnorm/error.h) with formatted messages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "selfnorm/error.h"

namespace selfnorm {

template <class... T>
[[noreturn]] void throw_error(fmt::format_string<T...> message, T&&... values) {
  throw Error(fmt::format(message, std::forward<T>(values)...));
}

// A DataError: at a line of a file, or 0.
template <class... T>
[[noreturn]] void throw_at(const std::string& file, uint64_t line, fmt::format_string<T...> message,
                           T&&... values) {
  throw DataError(file, line, fmt::format(message, std::forward<T>(values)...));
}

// Throws Error("name = value is out of range; expected ...") unless `good` and the value is finite.
void require_range(bool good, const char* name, double value, const char* expected);

// Throws Error("name 'value' is not known; expected one of ...") unless value is one of the choices.
void require_one_of(const char* name, const std::string& value, const std::vector<std::string>& choices);

}  // namespace selfnorm
