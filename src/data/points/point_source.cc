#include "data/points/point_source.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/failure.h"
#include "base/memory.h"
#include "data/array/matrix.h"
#include "data/array/named_arrays.h"
#include "data/example_source.h"
#include "data/input/characters.h"
#include "data/input/sniff.h"
#include "data/input/source.h"
#include "data/points/interval_cells.h"
#include "data/points/word_points.h"
#include "data/string_index.h"
#include "data/table/json_lines.h"
#include "data/table/table.h"
#include "data/table/table_sample.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Throws DataError unless the model has as many columns as the file (after those left out).
void check_columns(const std::string& file, uint64_t columns, const PointOptions& options) {
  const uint64_t expected = options.columns > 0 ? options.columns : options.names.size();
  if (expected > 0 && columns != expected)
    throw_at(file, 0, "found {} columns, but the model has {}", columns, expected);
}

// The numbers that the model gives to its columns, by name; both have all of them.
void match_names(const TableColumns& columns, const TableSample& sample, const PointOptions& options,
                 TableLayout& layout) {
  const StringIndex known(options.names);
  for (uint32_t c = 0; c < columns.size(); ++c) {
    if (layout.role[c] == TableLayout::kDropped) continue;
    const auto number = known.find(sample.first[c]);
    if (!number)
      columns.fail(
          worded("found a column {}, which the model does not have; leave it out (`drop`), or give data "
                 "with the model's columns {}",
                 quoted_text(sample.first[c]), shown_names(options.names)));
    layout.role[c] = *number;
  }
  for (const std::string& name : options.names) {
    const auto c = columns.named(name);
    if (!c || layout.role[*c] == TableLayout::kDropped)
      columns.fail(
          fmt::format("found no column {}, which the model has; {}", quoted_text(name), columns.describe()));
  }
  layout.names = options.names;
}

// The columns of a table that are words whatever is in them, by name or place.
std::vector<std::string> word_columns(const PointOptions& options) {
  std::vector<std::string> out = options.categorical;
  for (size_t j = 0; options.known && j < options.known->size(); ++j)
    if (!(*options.known)[j].empty())
      out.push_back(options.names.empty() ? std::to_string(j) : options.names[j]);
  return out;
}

// Looks ahead in the input, takes nothing. Throws DataError. Columns without a number in the first rows, and
// those that are said to be so, may have words.
TableLayout point_layout(Input& input, char separator, const PointOptions& options,
                         std::vector<uint32_t>& wordy) {
  TableLayout layout;
  layout.rule = {separator};
  const TableSample sample = table_sample(input, layout.rule);
  const TableColumns columns(input.name(), sample, options.header);
  layout.role.resize(columns.size());
  std::vector<std::string> words = word_columns(options);
  words.insert(words.end(), options.drop.begin(), options.drop.end());
  columns.refuse_decimal_commas(words, options.known.has_value());
  for (const std::string& name : options.drop) {
    const auto c = columns.find(name);
    if (!c)
      columns.fail(
          fmt::format("found no column {} to leave out; {}", quoted_text(name), columns.describe(name)));
    layout.role[*c] = TableLayout::kDropped;
  }
  for (uint32_t c = 0; c < columns.size(); ++c) {
    if (layout.role[c] == TableLayout::kDropped) continue;
    layout.role[c] = layout.features++;
    if (columns.has_header()) layout.names.push_back(sample.first[c]);
  }
  if (layout.features == 0) columns.fail("found no column that is not left out; " + columns.describe());
  if (columns.has_header()) {
    if (!options.names.empty()) match_names(columns, sample, options, layout);
    layout.header_bytes = sample.first_bytes;
    layout.first_line = sample.next_line;
  }
  for (const std::string& name : options.categorical) wordy.push_back(columns.column(name, "categorical"));
  for (uint32_t c = 0; c < columns.size() && !options.known; ++c) {
    const bool starts_with_number = !columns.has_header() && is_number(sample.first[c]);
    if (layout.role[c] != TableLayout::kDropped && sample.later > 0 && !sample.has_number[c] &&
        !starts_with_number)
      wordy.push_back(c);
  }
  for (uint32_t c = 0; c < columns.size() && options.known; ++c) {
    const uint32_t j = layout.role[c];
    if (j < options.known->size() && !(*options.known)[j].empty()) wordy.push_back(c);
  }
  check_columns(input.name(), layout.features, options);
  layout.advice = with_options(" (a column that is no number is left out with `drop`)");
  return layout;
}

// Columns of `columns` without those in `drop`, which are zero-based indices. Throws DataError.
std::vector<uint32_t> kept_columns(const std::string& file, uint64_t columns,
                                   const std::vector<std::string>& drop) {
  std::vector<bool> is_dropped(columns);
  for (const std::string& name : drop) {
    uint64_t index = 0;
    const char* end = name.c_str() + name.size();
    if (parse_natural(name.c_str(), end, index) != end || index >= columns)
      throw_at(file, 0, "found no column {} to leave out; the columns have no names, expected 0 to {}",
               quoted_text(name), columns - 1);
    is_dropped[index] = true;
  }
  std::vector<uint32_t> kept;
  for (uint32_t c = 0; c < columns; ++c)
    if (!is_dropped[c]) kept.push_back(c);
  if (kept.empty()) throw_at(file, 0, "all {} columns are left out", columns);
  return kept;
}

constexpr uint64_t kSampledRows = 4096;                 // of a mapped file, for its fingerprint
constexpr uint64_t kResidentBytes = uint64_t{1} << 28;  // touched before the pages are given back
constexpr uint64_t kPageBytes = 4096;

std::string hash_text(const PointSource& source, std::span<const float> values) {
  std::string head = fmt::format("{} {}", source.rows(), source.columns());
  for (const std::string& name : source.names()) head += '\n' + name;
  for (const auto& words : source.categories()) {
    head += '\0';
    for (const std::string& word : words) head += '\n' + word;
  }
  return fmt::format("{:016x}", hash_words(hash_bytes(head), values));
}

class MemoryPoints final : public PointSource {
 public:
  MemoryPoints(uint32_t columns, std::vector<float> values, std::vector<std::string> names,
               RowNumbers numbers = {}, Categories categories = {}, IntervalRows intervals = {})
      : columns_(columns),
        values_(std::move(values)),
        names_(std::move(names)),
        numbers_(std::move(numbers)),
        categories_(std::move(categories)),
        intervals_(std::move(intervals)) {}

  uint64_t rows() const override { return values_.size() / columns_; }
  uint32_t columns() const override { return columns_; }
  const std::vector<std::string>& names() const override { return names_; }
  const Categories& categories() const override { return categories_; }
  void read(std::span<const uint64_t> rows, std::span<float> out) const override {
    SELFNORM_CHECK(out.size() == rows.size() * columns_);
    for (size_t r = 0; r < rows.size(); ++r) {
      SELFNORM_CHECK(rows[r] < this->rows());
      std::copy_n(values_.data() + rows[r] * columns_, columns_, out.data() + r * columns_);
    }
  }
  uint64_t number(uint64_t row) const override { return numbers_[row]; }
  std::span<const IntervalCell> intervals(uint64_t row) const override {
    const auto found = intervals_.find(row);
    return found == intervals_.end() ? std::span<const IntervalCell>() : found->second;
  }
  bool has_intervals() const override { return !intervals_.empty(); }
  std::string fingerprint() const override {
    if (intervals_.empty()) return hash_text(*this, values_);
    std::string known;
    for (const auto& [row, cells] : intervals_)
      for (const IntervalCell& cell : cells)
        known += fmt::format("{} {} {} {}\n", row, cell.column, cell.low, cell.high);
    return hash_text(*this, values_) + fmt::format("{:016x}", hash_bytes(known));
  }

 private:
  uint32_t columns_;
  std::vector<float> values_;
  std::vector<std::string> names_;
  RowNumbers numbers_;
  Categories categories_;
  IntervalRows intervals_;
};

class MappedPoints final : public PointSource {
 public:
  MappedPoints(ArrayRows array, std::vector<uint32_t> kept)
      : array_(std::move(array)), kept_(std::move(kept)) {}

  uint64_t rows() const override { return array_.rows(); }
  uint32_t columns() const override { return static_cast<uint32_t>(kept_.size()); }
  const std::vector<std::string>& names() const override { return names_; }

  void read(std::span<const uint64_t> rows, std::span<float> out) const override {
    SELFNORM_CHECK(out.size() == rows.size() * columns());
    if (kept_.size() == array_.columns()) {
      array_.gather(rows, out);
    } else {
      std::vector<float> whole(array_.columns());
      for (size_t r = 0; r < rows.size(); ++r) {
        array_.gather(rows.subspan(r, 1), whole);
        for (size_t j = 0; j < kept_.size(); ++j) out[r * kept_.size() + j] = whole[kept_[j]];
      }
    }
    const uint64_t touched = rows.size() * std::max(kPageBytes, uint64_t{array_.columns()} * sizeof(float));
    if ((touched_ += touched) < kResidentBytes) return;
    touched_ = 0;
    array_.release(0, array_.rows());
  }

  std::string fingerprint() const override {
    const uint64_t n = std::min(kSampledRows, rows());
    std::vector<uint64_t> sampled(n);
    for (uint64_t i = 0; i < n; ++i) sampled[i] = i * (rows() / n);
    sampled.back() = rows() - 1;
    std::vector<float> values(n * columns());
    read(sampled, values);
    return hash_text(*this, values);
  }

 private:
  ArrayRows array_;
  std::vector<uint32_t> kept_;  // columns, rising
  std::vector<std::string> names_;
  mutable std::atomic<uint64_t> touched_ = 0;  // bytes of pages since they were given back
};

// The first dimension is the rows and the others together are the columns; one dimension is one column.
std::unique_ptr<PointSource> mapped_points(const std::string& path, const PointOptions& options) {
  const ArrayFile file(path);
  const ArrayEntry& entry = choose_features(file, options.array);
  const auto fail = [&](const std::string& what) { throw DataError(entry.place, 0, what); };
  if (!entry.problem.empty()) throw Error(entry.problem);
  if (!entry.type.is_number()) fail("found elements that are not numbers");
  if (entry.shape.empty()) fail("found a single number, expected points: rows x columns");
  if (entry.fortran_order && entry.shape.size() > 2)
    fail("found Fortran order in more than 2 dimensions, expected C order");
  if (entry.elements == 0) fail(kNoRows);
  const uint64_t rows = entry.shape.front(), columns = entry.elements / rows;
  if (columns > 0xFFFFFFFEu) fail("the declared shape is too large");
  std::vector<uint32_t> kept = kept_columns(entry.place, columns, options.drop);
  check_columns(entry.place, kept.size(), options);
  return std::make_unique<MappedPoints>(ArrayRows(file.view(entry), rows, static_cast<uint32_t>(columns)),
                                        std::move(kept));
}

std::vector<float> dense_values(const std::string& file, Features features, std::span<const uint32_t> kept) {
  const uint64_t rows = features.rows();
  const uint32_t columns = features.columns();
  if (!features.is_sparse && kept.size() == columns) return std::move(features.dense.values);
  require_memory(4.0 * static_cast<double>(rows) * static_cast<double>(kept.size()),
                 fmt::format("{}: {} rows of {} columns", file, rows, kept.size()),
                 with_options("densities need every column of every row; leave columns out (`drop`)"));
  std::vector<float> values(rows * kept.size());
  std::vector<uint32_t> place(columns, Dataset::kNoTarget);
  for (uint32_t j = 0; j < kept.size(); ++j)
    if (kept[j] < columns) place[kept[j]] = j;
  for (uint64_t r = 0; r < rows; ++r) {
    const auto put = [&](uint32_t c, float value) {
      if (place[c] != Dataset::kNoTarget) values[r * kept.size() + place[c]] = value;
    };
    for_each_entry(features, r, put);
  }
  return values;
}

// Of the rows, in the columns of the points. Throws DataError for a field that is no interval.
IntervalRows point_intervals(const std::string& file, const IntervalTable& table, const TableLayout& layout) {
  IntervalRows out;
  for (const IntervalTable::Cell& cell : table.cells) {
    const uint32_t role = layout.role[cell.column];
    if (role == TableLayout::kDropped) continue;
    const auto low = static_cast<float>(cell.low), high = static_cast<float>(cell.high);
    const std::string name =
        quoted_text(role < layout.names.size() ? layout.names[role] : std::to_string(cell.column));
    if (std::isnan(cell.low))
      throw_at(file, cell.line,
               "in column {}: found {}, expected a number or an interval: low..high, low.. or ..high", name,
               quoted_text(cell.field));
    if (cell.low > cell.high)
      throw_at(file, cell.line, "in column {}: found the interval {}, expected its lower end first", name,
               quoted_text(cell.field));
    if (cell.low == cell.high) continue;
    if (low == high)
      throw_at(
          file, cell.line,
          "in column {}: found the interval {}, whose ends are the same 32-bit float; give a number or a "
          "wider interval",
          name, quoted_text(cell.field));
    out[cell.row].push_back({role, low, high});
  }
  return out;
}

// A table whose first records say what its columns are.
std::unique_ptr<PointSource> table_points(Input& whole, const ReadOptions& reading,
                                          const PointOptions& options) {
  const char separator = table_separator(whole, reading.format);
  const HeldTable held(whole);
  std::string_view text = held.text();
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  PointOptions known_header = options;
  const auto intervals =
      interval_table(whole.name(), text, separator, known_header.header, word_columns(options));
  const auto input = intervals ? Input::memory(whole.name(), intervals->text) : held.open();
  std::vector<uint32_t> wordy;
  const TableLayout layout = point_layout(*input, separator, known_header, wordy);
  IntervalRows known = intervals ? point_intervals(whole.name(), *intervals, layout) : IntervalRows();
  if (!wordy.empty()) return read_word_points(*input, separator, layout, wordy, options, std::move(known));
  Dataset data = read_table(*input, layout, reading).data;
  return std::make_unique<MemoryPoints>(layout.features, std::move(data.features.dense.values),
                                        std::move(data.feature_names), std::move(data.numbers), Categories(),
                                        std::move(known));
}

// A table, or what read_dataset reads whole: svmlight (last columns may lack), idx, compressed arrays.
std::unique_ptr<PointSource> whole_points(const std::string& path, const PointOptions& options) {
  const auto input = opened_table(Input::open(path));
  ReadOptions reading;
  reading.format = options.format;
  reading.require_labels = false;
  input->skip_byte_order_mark();
  if (reading.format == Format::automatic) reading.format = detect_format(*input, reading);
  if (reading.format == Format::text) reading.format = Format::tsv;
  if (reading.format == Format::csv || reading.format == Format::tsv)
    return table_points(*input, reading, options);
  if (!options.categorical.empty())
    throw DataError(path, 0, "found no table, but categorical columns are for csv, tsv and JSON lines");
  reading.header = options.header;
  Dataset data = read_input(*input, reading).data;
  Features features = std::move(data.features);
  const uint64_t expected = std::max<uint64_t>(options.columns, options.names.size()) + options.drop.size();
  const uint64_t columns = features.is_sparse && expected > options.drop.size()
                               ? std::max<uint64_t>(features.columns(), expected)
                               : features.columns();
  const std::vector<uint32_t> kept = kept_columns(input->name(), columns, options.drop);
  check_columns(input->name(), kept.size(), options);
  return std::make_unique<MemoryPoints>(static_cast<uint32_t>(kept.size()),
                                        dense_values(input->name(), std::move(features), kept),
                                        std::vector<std::string>(), std::move(data.numbers));
}

}  // namespace

const Categories& PointSource::categories() const {
  static const Categories none;
  return none;
}

std::unique_ptr<PointSource> make_point_source(uint32_t columns, std::vector<float> values,
                                               std::vector<std::string> names, Categories categories,
                                               RowNumbers numbers, IntervalRows intervals) {
  SELFNORM_CHECK(columns > 0 && values.size() % columns == 0);
  SELFNORM_CHECK(names.empty() || names.size() == columns);
  SELFNORM_CHECK(categories.empty() || categories.size() == columns);
  for (uint64_t r = 0; r * columns < values.size(); ++r) {
    const std::string message = value_error(std::span(values).subspan(r * columns, columns));
    if (!message.empty()) throw DataError("points in memory", r + 1, message);
  }
  return std::make_unique<MemoryPoints>(columns, std::move(values), std::move(names), std::move(numbers),
                                        std::move(categories), std::move(intervals));
}

std::unique_ptr<PointSource> open_points(const std::string& path, const PointOptions& options) {
  const Format format = options.format;
  const bool may_be_array = format == Format::automatic || format == Format::npy || format == Format::npz ||
                            format == Format::safetensors;
  const bool is_array = may_be_array && is_array_file(path);
  if (!options.array.empty() && !is_array)
    throw_at(path, 0, "found no array file, but an array is named ({})", options.array);
  if (options.header != Header::automatic && is_array)
    throw_at(path, 0, "found an array file, but a header (`header`) is for csv and tsv");
  if (!options.categorical.empty() && is_array)
    throw DataError(path, 0, "found an array file, but categorical columns are for csv and tsv");
  return is_array ? mapped_points(path, options) : whole_points(path, options);
}

void PointSubset::read(std::span<const uint64_t> rows, std::span<float> out) const {
  std::vector<uint64_t> there(rows.size());
  std::transform(rows.begin(), rows.end(), there.begin(), [this](uint64_t i) { return rows_[i]; });
  whole_.read(there, out);
}

std::string PointSubset::fingerprint() const {
  const std::string_view bytes(reinterpret_cast<const char*>(rows_.data()), rows_.size() * sizeof(uint64_t));
  return whole_.fingerprint() + std::to_string(hash_bytes(bytes));
}

JoinedPoints::JoinedPoints(std::unique_ptr<PointSource> first, std::unique_ptr<PointSource> second)
    : first_(std::move(first)), second_(std::move(second)) {
  SELFNORM_CHECK(first_->columns() == second_->columns());
}

void JoinedPoints::read(std::span<const uint64_t> rows, std::span<float> out) const {
  const uint64_t border = first_->rows();
  for (size_t begin = 0; begin < rows.size();) {
    const bool is_first = rows[begin] < border;
    std::vector<uint64_t> there;
    for (size_t i = begin; i < rows.size() && (rows[i] < border) == is_first; ++i)
      there.push_back(is_first ? rows[i] : rows[i] - border);
    (is_first ? first_ : second_)->read(there, out.subspan(begin * columns(), there.size() * columns()));
    begin += there.size();
  }
}

}  // namespace selfnorm
