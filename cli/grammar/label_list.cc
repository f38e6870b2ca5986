#include "grammar/label_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>

#include "data/string_index.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

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
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(static_cast<float>(value))) {
    throw DataError(path, line.number, fmt::format("expected a finite number, found '{}'", text));
  }
  return static_cast<float>(value);
}

}  // namespace

std::vector<std::string> split_labels(const std::string& list) {
  std::vector<std::string> labels(1);
  bool is_quoted = false;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (is_quoted && c == '"' && i + 1 < list.size() && list[i + 1] == '"') {
      labels.back() += '"';
      ++i;
    } else if (c == '"' && (is_quoted || labels.back().empty())) {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      labels.emplace_back();
    } else {
      labels.back() += c;
    }
  }
  if (is_quoted) throw Error(fmt::format("--candidates has an open quote: {}", list));
  return labels;
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
    if (weights.back() < 0)
      throw DataError(path, line.number, fmt::format("expected a weight >= 0, found {}", line.text));
  }
  if (weights.size() != examples + left_out.size()) {
    throw DataError(
        path, 0,
        fmt::format("has {} weights; the data have {} examples{}", weights.size(), examples + left_out.size(),
                    left_out.empty() ? "" : ", those that are skipped among them"));
  }
  if (std::none_of(weights.begin(), weights.end(), [](float w) { return w > 0; }))
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
    throw DataError(path, 0,
                    fmt::format("has {} lines; the data have {} classes", lines.size(), labels.size()));
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
      if (!found) {
        throw DataError(path, line.number,
                        fmt::format("label '{}' is not in the data", line.text.substr(0, tab)));
      }
      k = *found;
    }
    if (!std::isnan(carrier[k]))
      throw DataError(path, line.number, fmt::format("label '{}' a second time", labels[k]));
    carrier[k] = number_of(path, line, tab == std::string::npos ? line.text : line.text.substr(tab + 1));
  }
  return carrier;
}

}  // namespace selfnorm::cli
