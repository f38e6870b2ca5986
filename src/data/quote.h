// How bad data are shown in an error message.
#pragma once

#include <string>
#include <string_view>

namespace selfnorm {

// 'text', cut at 40 bytes (then '...'), with control characters and bytes that are not UTF-8 written as \xNN.
std::string quoted_text(std::string_view text);

}  // namespace selfnorm
