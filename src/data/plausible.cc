#include "data/plausible.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "data/input/characters.h"
#include "data/input/records.h"
#include "data/input/source.h"

namespace selfnorm {
namespace {

constexpr uint64_t kFewRows = 20;  // of which all labels may well be different
constexpr uint64_t kMostQuantities = 100;
constexpr uint64_t kMostLabelsOfOne = 50, kTokensOfLabel = 20;

struct Numbers {
  bool are_all = true, have_fractions = false;
  double low = INFINITY, high = -INFINITY;
};

Numbers numbers_of(const std::vector<std::string>& labels) {
  Numbers out;
  for (const std::string& label : labels) {
    double value = 0;
    if (!parse_double(label, value) || !std::isfinite(value)) return {.are_all = false};
    out.have_fractions = out.have_fractions || value != std::floor(value);
    out.low = std::min(out.low, value);
    out.high = std::max(out.high, value);
  }
  return out;
}

}  // namespace

std::string classes_doubt(const Dataset& data, bool is_table) {
  const uint64_t n = data.examples(), k = data.classes();
  if (data.is_joint() || k <= kFewRows) return "";
  const Numbers numbers = numbers_of(data.labels);
  const bool are_quantities =
      numbers.are_all &&
      (numbers.have_fractions ||
       (is_table && k > kMostQuantities && numbers.high - numbers.low > 2 * static_cast<double>(k)));
  if (are_quantities || (numbers.are_all && 2 * k > n))
    return fmt::format(
        "the label is a number with {} different values in {} rows, which would be as many classes; to "
        "predict a number use 'selfnorm train regressor', or name another column by --target",
        k, n);
  if (2 * k > n)
    return fmt::format(
        "found {} different labels in {} rows: these are names or texts of rows, not classes; name the "
        "column of the label by --target (text: label<TAB>text)",
        k, n);
  return "";
}

std::string corpus_doubt(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return "";
  const auto input = Input::open(path);
  std::string_view head = input->peek(size_t{1} << 16);
  const auto advice = [&path](const char* found, const char* command) {
    return fmt::format(
        "{} looks like {}, not like a text with a sentence a line; 'selfnorm {}' reads such data", path,
        found, command);
  };
  uint64_t lines = 0, pairs = 0, rows = 0;
  std::ptrdiff_t fields = 0;
  for (uint64_t count = 0; !head.empty() && lines < 100;) {
    const std::string_view line = take_record(head, {}, count);
    if (line.empty()) continue;
    ++lines;
    const size_t colon = line.find(':'), blank = line.find(' ');
    const bool is_pair =
        blank != std::string_view::npos && colon != std::string_view::npos && colon > blank + 1 &&
        line.substr(blank + 1, colon - blank - 1).find_first_not_of("0123456789") == std::string_view::npos;
    pairs += is_pair ? 1 : 0;
    const auto separators =
        std::ranges::count_if(line, [](char c) { return c == ',' || c == ';' || c == '\t'; });
    if (lines == 1) fields = separators;
    rows += separators >= 2 && separators == fields && line.find(", ") == std::string_view::npos ? 1 : 0;
  }
  if (lines > 2 && 10 * pairs > 9 * lines) return advice("svmlight data", "train classifier");
  if (lines > 2 && 10 * rows > 9 * lines)
    return advice("a table", "train classifier' or 'selfnorm train regressor");
  return "";
}

std::string labels_doubt(const Sequences& data, uint64_t labels) {
  const uint64_t tokens = data.positions(), sentences = data.sentences();
  const bool are_distinct = tokens >= kFewRows && 2 * labels > tokens;
  const bool is_one = sentences == 1 && labels > kMostLabelsOfOne && kTokensOfLabel * labels > tokens;
  if (!are_distinct && !is_one) return "";
  return fmt::format(
      "found {} sentence{} of {} tokens with {} different labels: this looks like a file of texts, not of "
      "lines token<TAB>label with a blank line after every sentence; 'selfnorm train classifier' reads "
      "label<TAB>text, --target says which column is the label",
      sentences, sentences == 1 ? "" : "s", tokens, labels);
}

}  // namespace selfnorm
