#include "data/plausible.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/failure.h"
#include "data/input/characters.h"
#include "data/input/records.h"
#include "data/input/source.h"

namespace selfnorm {
namespace {

constexpr uint64_t kFewRows = 20;  // of which all labels may well be different
constexpr uint64_t kMostQuantities = 100;
constexpr uint64_t kMostLabelsOfOne = 50, kTokensOfLabel = 20, kMostTags = 1000;
constexpr uint64_t kMostTokensBetween = 50;  // blank lines

struct Numbers {
  bool are_all = true, have_fractions = false;
  double low = INFINITY, high = -INFINITY;
};

Numbers numbers_of(const ClassNames& labels) {
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

// What the first lines of a regular file look like; of others nothing is looked at.
struct FirstLines {
  uint64_t all = 0, blank = 0;
  uint64_t pairs = 0;     // begin with a word and index:value
  uint64_t rows = 0;      // have as many commas or semicolons between fields as the first
  uint64_t columns = 0;   // have as many tabs as the first, two or more
  uint64_t labelled = 0;  // have one tab
  uint64_t words = 0;     // have one tab, and no blank
  uint64_t two = 0;       // have two words, one blank between them
  bool most(uint64_t of) const { return all > 2 && 10 * of > 9 * all; }
  bool has_sentences() const { return kMostTokensBetween * blank >= all; }  // blank lines end them
};

// How often fields meet there: commas of prose stand before a blank.
std::ptrdiff_t joints(std::string_view line, char separator) {
  std::ptrdiff_t count = 0;
  for (size_t i = 0; i < line.size(); ++i)
    count += line[i] == separator && (i + 1 == line.size() || line[i + 1] != ' ') ? 1 : 0;
  return count;
}

FirstLines first_lines_of(const std::string& path) {
  constexpr uint64_t kMost = 100;
  FirstLines out;
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return out;
  const auto input = Input::open(path);
  std::string_view head = input->peek(size_t{1} << 16);
  std::ptrdiff_t first[3] = {};
  for (uint64_t count = 0; !head.empty() && out.all < kMost;) {
    const std::string_view line = take_record(head, {}, count);
    if (line.empty()) {
      ++out.blank;
      continue;
    }
    ++out.all;
    const size_t colon = line.find(':'), blank = line.find(' ');
    const bool is_pair =
        blank != std::string_view::npos && colon != std::string_view::npos && colon > blank + 1 &&
        line.substr(blank + 1, colon - blank - 1).find_first_not_of("0123456789") == std::string_view::npos;
    out.pairs += is_pair ? 1 : 0;
    bool is_row = false;
    for (size_t i = 0; i < 3; ++i) {
      const std::ptrdiff_t found = joints(line, ",;\t"[i]);
      if (out.all == 1) first[i] = found;
      if (i == 2)
        out.columns += found > 1 && found == first[i] ? 1 : 0;
      else
        is_row = is_row || (found > 0 && found == first[i]);
    }
    out.rows += is_row ? 1 : 0;
    const bool is_labelled = std::ranges::count(line, '\t') == 1;
    out.labelled += is_labelled ? 1 : 0;
    out.words += is_labelled && blank == std::string_view::npos ? 1 : 0;
    out.two += std::ranges::count(line, ' ') == 1 && blank > 0 && blank + 1 < line.size() ? 1 : 0;
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
    return worded(
        "the label is a number with {} different values in {} rows, which would be as many classes; to "
        "predict a number use 'selfnorm train regressor', or name another column by `target`",
        k, n);
  if (2 * k > n)
    return worded(
        "found {} different labels in {} rows: these are names or texts of rows, not classes; name the "
        "column of the label by `target` (text: label<TAB>text)",
        k, n);
  return "";
}

std::string corpus_doubt(const std::string& path) {
  const FirstLines lines = first_lines_of(path);
  const auto advice = [](const char* found, const char* command) {
    return fmt::format("looks like {}, not like a text with a sentence a line; 'selfnorm {}' reads such data",
                       found, command);
  };
  if (lines.most(lines.pairs)) return advice("svmlight data", "train classifier");
  if (lines.most(lines.rows) || lines.most(lines.columns))
    return advice("a table", "train classifier' or 'selfnorm train regressor");
  if (lines.most(lines.words) || (lines.most(lines.two) && lines.has_sentences()))
    return advice("words with labels", "train crf");
  if (lines.most(lines.labelled)) return advice("lines label<TAB>text", "train classifier");
  return "";
}

std::string sentences_doubt(const std::string& path) {
  const FirstLines lines = first_lines_of(path);
  if (!lines.most(lines.rows) || lines.has_sentences()) return "";
  return "looks like a table, not like sentences with a token a line and a blank line after each; 'selfnorm "
         "train classifier' or 'selfnorm train regressor' reads such data";
}

std::string texts_doubt(const std::string& path) {
  const FirstLines lines = first_lines_of(path);
  if (!lines.most(lines.words) || !lines.has_sentences()) return "";
  return "lines of a word and its label, with a blank line after every sentence, look like sentences; "
         "'selfnorm train crf' reads them";
}

std::string labels_doubt(const Sequences& data, uint64_t labels, uint64_t last_values) {
  const uint64_t tokens = data.positions(), sentences = data.sentences();
  if (last_values > 0 && labels > kFewRows && labels > 3 * last_values &&
      (labels > kMostTags || kTokensOfLabel * labels > tokens))
    return worded(
        "the column named by `target` has {} different values, and the last one only {}: words are many and "
        "labels are few; without `target` the last column is the label",
        labels, last_values);
  const bool are_distinct = tokens >= kFewRows && 2 * labels > tokens;
  const bool is_one = sentences == 1 && labels > kMostLabelsOfOne && kTokensOfLabel * labels > tokens;
  if (!are_distinct && !is_one) return "";
  return worded(
      "found {} sentence{} of {} tokens with {} different labels: this looks like a file of texts, not of "
      "lines token<TAB>label with a blank line after every sentence; 'selfnorm train classifier' reads "
      "label<TAB>text, `target` says which column is the label",
      sentences, sentences == 1 ? "" : "s", tokens, labels);
}

}  // namespace selfnorm
