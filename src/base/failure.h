// Errors (selfnorm/error.h) with formatted messages.
#pragma once

#include <fmt/format.h>

#include <utility>

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

}  // namespace selfnorm
