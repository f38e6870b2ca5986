// Options that are lists, their items separated by commas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace selfnorm::cli {

// "a,b" -> {"a", "b"}, quoted as in CSV; "" -> {}.
std::vector<std::string> listed_words(const std::string& list);
// Throws Error naming the option for what is no number; inf and -inf are.
std::vector<double> listed_numbers(const char* option, const std::string& list);
// Widths of layers; "none" -> {}. Throws Error for what is no whole number.
std::vector<uint32_t> listed_widths(const char* option, const std::string& list);

}  // namespace selfnorm::cli
