#include "grammar/option_list.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "grammar/label_list.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

template <typename T>
bool is_parsed(const std::string& word, T& value) {
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

}  // namespace

std::vector<std::string> listed_words(const std::string& list) {
  return list.empty() ? std::vector<std::string>{} : split_labels(list);
}

std::vector<double> listed_numbers(const char* option, const std::string& list) {
  std::vector<double> numbers;
  for (const std::string& word : listed_words(list)) {
    double value = 0;
    if (!is_parsed(word, value) || std::isnan(value))
      throw Error(fmt::format("{} '{}': found '{}', expected numbers, inf or -inf, separated by commas",
                              option, list, word));
    numbers.push_back(value);
  }
  return numbers;
}

std::vector<uint32_t> listed_widths(const char* option, const std::string& list) {
  if (list == "none") return {};
  std::vector<uint32_t> widths;
  for (const std::string& word : listed_words(list)) {
    uint32_t value = 0;
    if (!is_parsed(word, value))
      throw Error(fmt::format("{} '{}': found '{}', expected widths of layers separated by commas, or none",
                              option, list, word));
    widths.push_back(value);
  }
  return widths;
}

std::optional<double> number_or_auto(const char* option, const std::string& word, double low, double high) {
  if (word == "auto") return std::nullopt;
  double value = 0;
  if (!is_parsed(word, value) || !(value >= low && value <= high))
    throw Error(fmt::format("{} is '{}'; expected auto or a number from {} to {}", option, word, low, high));
  return value;
}

}  // namespace selfnorm::cli
