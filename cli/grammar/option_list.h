// Values of options that are more than a word or a number: lists, their items separated by commas; auto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace selfnorm::cli {

// "a,b" -> {"a", "b"}, quoted as in CSV; "" -> {}.
std::vector<std::string> listed_words(const std::string& list);
// Throws Error naming the option for what is no number; inf and -inf are.
std::vector<double> listed_numbers(const char* option, const std::string& list);
// Widths of layers; "none" -> {}. Throws Error for what is no whole number.
std::vector<uint32_t> listed_widths(const char* option, const std::string& list);

// A word that is "auto" (nothing) or a number from `low` to `high`; throws Error otherwise.
std::optional<double> number_or_auto(const char* option, const std::string& word, double low, double high);

}  // namespace selfnorm::cli
