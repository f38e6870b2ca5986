// A label as it is shown on one line of a terminal or in a table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace selfnorm {

inline constexpr size_t kShownCharacters = 80;

// U+FFFD for every byte of no well-formed UTF-8; '?' for C0 and C1 controls and DEL, which command a
// terminal. Of more than kShownCharacters code points the first ones, and `cut` for the last.
std::string shown_label(std::string_view label, std::string_view cut = "\u2026");

}  // namespace selfnorm
