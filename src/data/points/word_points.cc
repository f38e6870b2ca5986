#include "data/points/word_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/failure.h"
#include "data/input/characters.h"
#include "data/input/source.h"
#include "data/string_index.h"
#include "data/table/frame.h"
#include "data/table/table_sample.h"

namespace selfnorm {
namespace {

constexpr size_t kMostWords = 65535;
constexpr uint64_t kLeastNames = 100;  // rows

bool holds_column(const std::vector<uint32_t>& list, uint32_t c) {
  return std::ranges::find(list, c) != list.end();
}

// The words of a column in their order; `missing` stands for those that are not there.
std::vector<std::string> sorted_words(const FrameColumn& column) {
  std::vector<std::string> words = column.levels;
  std::ranges::sort(words);
  if (std::ranges::all_of(words, [](const std::string& w) { return is_number(w); })) {
    std::ranges::stable_sort(words, {}, [](const std::string& w) {
      double value = 0;
      parse_double(w, value);
      return value;
    });
  }
  if (std::ranges::find(column.level, kMissingLevel) != column.level.end()) words.insert(words.begin(), "");
  return words;
}

std::string shown_words(const std::vector<std::string>& words) {
  constexpr size_t kShownWords = 3;
  std::string out;
  for (size_t i = 0; i < std::min(kShownWords, words.size()); ++i)
    out += (i > 0 ? ", " : "") + quoted_text(words[i]);
  return words.size() > kShownWords ? fmt::format("{} and {} more", out, words.size() - kShownWords) : out;
}

void check_words(const Frame& frame, const FrameColumn& column, const std::vector<std::string>& words) {
  const bool is_name = frame.rows >= kLeastNames && words.size() == frame.rows;
  if (!is_name && words.size() <= kMostWords) return;
  throw_at(frame.file, frame.line.front(),
           "in column {}: found {} different words in {} rows, which say nothing about other rows; leave it "
           "out (`drop`)",
           quoted_text(column.name), words.size(), frame.rows);
}

// Column j of the points.
class ColumnReader {
 public:
  ColumnReader(const Frame& frame, uint32_t columns, std::vector<float>& values)
      : frame_(frame), columns_(columns), values_(values) {}

  void numbers(const FrameColumn& column, uint32_t j) const {
    for (uint64_t i = 0; i < frame_.rows; ++i) {
      const auto value = static_cast<float>(column.number[i]);
      if (!std::isfinite(value))
        throw_at(frame_.file, frame_.line[i],
                 "in column {}: found {}, expected a number (or leave the column out: `drop`)",
                 quoted_text(column.name),
                 std::isnan(value) ? "a missing value" : "one beyond 32-bit floats");
      values_[i * columns_ + j] = value;
    }
  }
  void words(const FrameColumn& column, uint32_t j, const std::vector<std::string>& known) const {
    StringIndex place;
    for (const std::string& word : known) place.add(word);
    std::vector<std::optional<uint32_t>> level(column.levels.size());
    for (size_t l = 0; l < level.size(); ++l) level[l] = place.find(column.levels[l]);
    const auto missing = place.find("");
    for (uint64_t i = 0; i < frame_.rows; ++i) {
      const bool is_missing = column.level[i] == kMissingLevel;
      const auto at = is_missing ? missing : level[column.level[i]];
      if (!at)
        throw_at(frame_.file, frame_.line[i],
                 "in column {}: found {}, which no row of the training data had; expected one of {}",
                 quoted_text(column.name),
                 is_missing ? "a missing value" : quoted_text(column.levels[column.level[i]]),
                 shown_words(known));
      values_[i * columns_ + j] = static_cast<float>(*at);
    }
  }

 private:
  const Frame& frame_;
  uint32_t columns_;
  std::vector<float>& values_;
};

}  // namespace

std::unique_ptr<PointSource> read_word_points(Input& input, char separator, const TableLayout& layout,
                                              const std::vector<uint32_t>& wordy, const PointOptions& options,
                                              IntervalRows intervals) {
  const HeldTable table(input);
  FrameOptions reading;
  reading.header = layout.header_bytes > 0 ? "yes" : "no";
  reading.has_missing_words = false;
  const TableSample sample = table_sample(*table.open(), {separator});
  const auto name_of = [&](uint32_t c) {
    return layout.header_bytes > 0 ? sample.first[c] : std::to_string(c);
  };
  std::vector<uint32_t> place;  // of every column that is read
  for (uint32_t c = 0; c < layout.role.size(); ++c) {
    if (layout.role[c] == TableLayout::kDropped) {
      reading.ignored.push_back(name_of(c));
      continue;
    }
    place.push_back(layout.role[c]);
    if (!holds_column(wordy, c)) reading.numeric.push_back(name_of(c));
  }
  for (const uint32_t c : wordy) {
    const bool is_said = options.known || std::ranges::any_of(options.categorical, [&](const std::string& w) {
                           return w == name_of(c) || w == std::to_string(c);
                         });
    if (is_said && layout.role[c] != TableLayout::kDropped) reading.categorical.push_back(name_of(c));
  }
  Frame frame = read_table_frame([&] { return table.open(); }, separator, reading);
  std::vector<float> values(frame.rows * layout.features);
  Categories categories(layout.features);
  const ColumnReader reader(frame, layout.features, values);
  for (size_t k = 0; k < place.size(); ++k) {
    const FrameColumn& column = frame.columns[k];
    std::vector<std::string>& words = categories[place[k]];
    if (column.is_numeric) {
      reader.numbers(column, place[k]);
      continue;
    }
    words = options.known ? (*options.known)[place[k]] : sorted_words(column);
    if (!options.known) check_words(frame, column, words);
    reader.words(column, place[k], words);
  }
  if (std::ranges::all_of(categories, [](const auto& words) { return words.empty(); })) categories.clear();
  return make_point_source(layout.features, std::move(values), layout.names, std::move(categories),
                           std::move(frame.numbers), std::move(intervals));
}

}  // namespace selfnorm
