#include "grammar/option_list.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>

#include "base/failure.h"
#include "data/string_index.h"

namespace selfnorm::cli {
namespace {

template <typename T>
bool is_parsed(const std::string& word, T& value) {
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

struct Line {
  uint64_t number;
  std::string text;
};

std::vector<Line> lines_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw DataError(path, 0, "cannot be read; expected a text file");
  std::vector<Line> lines;
  uint64_t number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    if (!text.empty() && text.back() == '\r') text.pop_back();
    if (!text.empty()) lines.push_back({number, text});
  }
  if (file.bad()) throw DataError(path, 0, "cannot be read to its end");
  return lines;
}

float number_of(const std::string& path, const Line& line, const std::string& text) {
  double value = 0;
  if (!is_parsed(text, value) || !std::isfinite(static_cast<float>(value)))
    throw_at(path, line.number, "expected a finite number, found '{}'", text);
  return static_cast<float>(value);
}

}  // namespace

std::vector<std::string> listed_words(const std::string& list) {
  if (list.empty()) return {};
  std::vector<std::string> words(1);
  bool is_quoted = false;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (is_quoted && c == '"' && i + 1 < list.size() && list[i + 1] == '"') {
      words.back() += '"';
      ++i;
    } else if (c == '"' && (is_quoted || words.back().empty())) {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (is_quoted) throw_error("a list has an open quote: {}", list);
  return words;
}

std::vector<double> listed_numbers(const char* option, const std::string& list) {
  if (list == "none") return {};
  std::vector<double> numbers;
  for (const std::string& word : listed_words(list)) {
    double value = 0;
    if (!is_parsed(word, value) || std::isnan(value))
      throw_error("{} '{}': found '{}', expected numbers, inf or -inf, separated by commas", option, list,
                  word);
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
      throw_error("{} '{}': found '{}', expected widths of layers separated by commas, or none", option, list,
                  word);
    widths.push_back(value);
  }
  return widths;
}

std::optional<double> number_or_auto(const char* option, const std::string& word, double low, double high) {
  if (word == "auto") return std::nullopt;
  double value = 0;
  if (!is_parsed(word, value) || !(value >= low && value <= high))
    throw_error("{} is '{}'; expected auto or a number from {} to {}", option, word, low, high);
  return value;
}

std::vector<std::string> read_labels(const std::string& path) {
  std::vector<std::string> labels;
  for (Line& line : lines_of(path)) labels.push_back(std::move(line.text));
  if (labels.empty()) throw DataError(path, 0, "is empty; expected one label a line");
  return labels;
}

std::vector<float> read_weights(const std::string& path, uint64_t examples,
                                const std::vector<uint64_t>& left_out) {
  std::vector<float> weights;
  for (const Line& line : lines_of(path)) {
    weights.push_back(number_of(path, line, line.text));
    if (weights.back() < 0) throw_at(path, line.number, "expected a weight >= 0, found {}", line.text);
  }
  if (weights.size() != examples + left_out.size()) {
    throw_at(path, 0, "has {} weights; the data have {} examples{}", weights.size(),
             examples + left_out.size(), left_out.empty() ? "" : ", those that are skipped among them");
  }
  if (std::ranges::none_of(weights, [](float w) { return w > 0; }))
    throw DataError(path, 0, "has only weights of 0; expected a positive one");
  std::vector<float> kept;
  auto out = left_out.begin();
  for (uint64_t i = 0; i < weights.size(); ++i) {
    if (out != left_out.end() && *out == i)
      ++out;
    else
      kept.push_back(weights[i]);
  }
  return kept;
}

std::vector<float> read_carrier(const std::string& path, const std::vector<std::string>& labels) {
  const std::vector<Line> lines = lines_of(path);
  if (lines.size() != labels.size()) {
    throw_at(path, 0, "has {} lines; the data have {} classes", lines.size(), labels.size());
  }
  const KnownLabels known(labels);
  std::vector<float> carrier(labels.size(), std::numeric_limits<float>::quiet_NaN());
  const bool is_named = !lines.empty() && lines[0].text.find('\t') != std::string::npos;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    const size_t tab = line.text.rfind('\t');
    size_t k = i;
    if ((tab != std::string::npos) != is_named) {
      throw DataError(path, line.number,
                      "mixes lines 'label<TAB>number' and lines of a number only; expected one form");
    }
    if (tab != std::string::npos) {
      const auto found = known.find(line.text.substr(0, tab));
      if (!found) throw_at(path, line.number, "label '{}' is not in the data", line.text.substr(0, tab));
      k = *found;
    }
    if (!std::isnan(carrier[k])) throw_at(path, line.number, "label '{}' a second time", labels[k]);
    carrier[k] = number_of(path, line, tab == std::string::npos ? line.text : line.text.substr(tab + 1));
  }
  return carrier;
}

}  // namespace selfnorm::cli
