// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace selfnorm {

// Length of the well-formed sequence at the start of `text`, which is not empty; 0 when there is none.
size_t utf8_length(std::string_view text);

// `text` with U+FFFD in the place of every byte that belongs to no well-formed sequence.
std::string utf8_repaired(std::string_view text);

}  // namespace selfnorm
