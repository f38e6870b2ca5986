// Values of options that are more than a word or a number: lists, their items separated by commas; auto;
// files of candidate labels, example weights, a carrier.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace selfnorm::cli {

// One CSV record (RFC 4180): a,"b,c","say ""d""" -> a | b,c | say "d"; "" -> {}. Throws Error for an open
// quote.
std::vector<std::string> listed_words(const std::string& list);
// "none" -> {}. Throws Error naming the option for what is no number; inf and -inf are.
std::vector<double> listed_numbers(const char* option, const std::string& list);
// Widths of layers; "none" -> {}. Throws Error for what is no whole number.
std::vector<uint32_t> listed_widths(const char* option, const std::string& list);

// A word that is "auto" (nothing) or a number from `low` to `high`; throws Error otherwise.
std::optional<double> number_or_auto(const char* option, const std::string& word, double low, double high);

// One label a line; empty lines are left out.
std::vector<std::string> read_labels(const std::string& path);
// One number >= 0 a line for each of `examples` and, in their places, of those left out of the data (by
// number in the file); the weights of the former.
std::vector<float> read_weights(const std::string& path, uint64_t examples,
                                const std::vector<uint64_t>& left_out);
// log h(k) by class: lines "label<TAB>number", or one number a line in the order of `labels`, one form
// throughout; every class once.
std::vector<float> read_carrier(const std::string& path, const std::vector<std::string>& labels);

}  // namespace selfnorm::cli
