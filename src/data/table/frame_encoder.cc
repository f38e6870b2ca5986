#include "data/table/frame_encoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/failure.h"
#include "base/memory.h"
#include "data/input/characters.h"
#include "data/string_index.h"
#include "data/table/frame.h"
#include "data/table/table_sample.h"
#include "math/parallel.h"

namespace selfnorm {
namespace {

// What a column is encoded by; `reason`: why it is left out, or what else is to be said; empty: nothing.
struct LearnedColumn {
  InputColumn column;
  bool is_used = false;
  std::string reason{};
};

constexpr const char* kNoValue = "it has no value in the training rows";
constexpr const char* kConstant = "it has one value alone in the training rows";

// With m the power of two next to max |x| all sums are of x / m, so that nothing overflows or underflows.
void learn_numeric(const FrameColumn& from, std::span<const uint64_t> rows, bool standardise,
                   LearnedColumn& to) {
  std::vector<double> x;
  for (const uint64_t row : rows)
    if (!std::isnan(from.number[row])) x.push_back(from.number[row]);
  to.column.has_missing = x.size() < rows.size();
  if (x.empty()) {
    to.reason = kNoValue;
    return;
  }
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  const bool is_constant = *least == *most;
  if (!standardise) {
    to.is_used = true;
    return;
  }
  to.is_used = !is_constant || to.column.has_missing;
  if (!to.is_used) to.reason = kConstant;
  to.column.has_value = !is_constant;
  if (is_constant) return;
  const double m = std::scalbn(1.0, std::ilogb(std::max(std::abs(*least), std::abs(*most))));
  const double n = static_cast<double>(x.size());
  double mean = 0, first = 0, second = 0;
  for (const double value : x) mean += value / m / n;
  for (const double value : x) {
    const double d = value / m - mean;
    first += d / n;
    second += d * d / n;
  }
  to.column.mean = m * (mean + first);
  to.column.scale =
      std::max(m * std::sqrt(std::max(0.0, second - first * first)), std::numeric_limits<double>::min());
}

void learn_categorical(const FrameColumn& from, std::span<const uint64_t> rows, bool standardise,
                       LearnedColumn& to) {
  std::vector<uint64_t> count(from.levels.size());
  uint64_t missing = 0;
  for (const uint64_t row : rows) ++(from.level[row] == kMissingLevel ? missing : count[from.level[row]]);
  std::vector<uint32_t> order(count.size());
  std::iota(order.begin(), order.end(), 0u);
  std::erase_if(order, [&](uint32_t level) { return count[level] == 0; });
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return count[a] != count[b] ? count[a] > count[b] : from.levels[a] < from.levels[b];
  });
  const uint64_t present = rows.size() - missing;
  to.column.has_missing = missing > 0;
  if (order.empty()) {
    to.reason = kNoValue;
  } else if (order.size() == 1 && missing == 0 && standardise) {
    to.reason = kConstant;
  } else if (order.size() == present && present >= kLeastOwnLevels) {
    to.reason = fmt::format("its {} values in the training rows are all different texts", present);
  } else {
    to.is_used = true;
  }
  if (order.size() > kMostLevels && to.is_used) {
    to.reason = fmt::format("it has {} levels; the {} most frequent are kept, the others are one",
                            order.size(), kMostLevels);
    order.resize(kMostLevels);
  }
  for (const uint32_t level : order) to.column.levels.push_back(from.levels[level]);
}

LearnedColumn learn_column(const FrameColumn& from, std::span<const uint64_t> rows, bool standardise) {
  LearnedColumn to;
  to.column.name = from.name;
  to.column.is_numeric = from.is_numeric;
  if (from.is_numeric)
    learn_numeric(from, rows, standardise, to);
  else
    learn_categorical(from, rows, standardise, to);
  return to;
}

uint32_t inputs_of(const InputColumn& column) {
  return column.is_numeric ? uint32_t{column.has_value} + uint32_t{column.has_missing} : 0;
}

// Into the inputs from `first` on.
void encode_numeric(const FrameColumn& from, const InputColumn& as, double limit, uint32_t first,
                    EncodedFrame& out, EncodingReport::Count& count) {
  for (uint64_t row = 0; row < out.rows; ++row) {
    float* input = out.number.data() + row * out.numeric + first;
    const double x = from.number[row];
    const bool is_missing = std::isnan(x);
    count.missing += is_missing;
    if (as.has_value) {
      const double z = is_missing ? 0 : (x - as.mean) / as.scale;
      count.clipped += std::abs(z) > limit;
      *input++ = static_cast<float>(std::clamp(z, -limit, limit));
    }
    if (as.has_missing) *input = is_missing ? 1 : 0;
  }
}

void encode_categorical(const FrameColumn& from, const InputColumn& as, uint32_t place, EncodedFrame& out,
                        EncodingReport::Count& count) {
  const StringIndex known(as.levels);
  std::vector<uint32_t> level;
  for (const std::string& text : from.levels) {
    const auto found = known.find(text);
    level.push_back(found ? *found + 1 : 0);
  }
  const uint32_t missing = as.has_missing ? known.size() + 1 : 0;
  for (uint64_t row = 0; row < out.rows; ++row) {
    const bool is_missing = from.level[row] == kMissingLevel;
    const uint32_t found = is_missing ? missing : level[from.level[row]];
    count.missing += is_missing;
    count.unseen += !is_missing && found == 0;
    out.level[row * out.categorical + place] = found;
  }
}

constexpr size_t kLongestJson = size_t{1} << 28;
constexpr size_t kMostColumns = size_t{1} << 20;

void require(bool good, const std::string& expected) {
  if (!good) throw Error("the columns of the model are damaged: expected " + expected);
}

InputColumn column_from(const nlohmann::json& json) {
  InputColumn column;
  column.name = json.at("name").get<std::string>();
  const auto kind = json.at("kind").get<std::string>();
  column.is_numeric = kind == "numeric";
  column.has_missing = json.at("missing").get<bool>();
  const std::string of = " of column " + selfnorm::quoted_text(column.name);
  if (column.is_numeric) {
    require(json.at("mean").is_number() && json.at("scale").is_number(), "numbers as mean and scale" + of);
    column.mean = json.at("mean").get<double>();
    column.scale = json.at("scale").get<double>();
    column.has_value = json.at("value").get<bool>();
    require(std::isfinite(column.mean), "a finite mean" + of);
    require(std::isfinite(column.scale) && column.scale > 0, "a positive scale" + of);
    require(column.has_value || column.has_missing, "a value or an indicator" + of);
    return column;
  }
  require(kind == "categorical", "the kind numeric or categorical" + of);
  require(json.at("levels").is_array() && json.at("levels").size() <= kMostLevels,
          fmt::format("at most {} levels{}", kMostLevels, of));
  StringIndex seen;
  for (const auto& level : json.at("levels")) {
    column.levels.push_back(level.get<std::string>());
    require(seen.add(column.levels.back()) + 1 == column.levels.size(), "levels that differ" + of);
  }
  require(!column.levels.empty(), "levels" + of);
  return column;
}

}  // namespace

EncodedFrame EncodedFrame::take(std::span<const uint64_t> chosen) const {
  EncodedFrame out{chosen.size(), numeric, categorical, {}, {}};
  out.number.reserve(chosen.size() * numeric);
  out.level.reserve(chosen.size() * categorical);
  for (const uint64_t row : chosen) {
    SELFNORM_CHECK(row < rows);
    out.number.insert(out.number.end(), number.data() + row * numeric, number.data() + (row + 1) * numeric);
    out.level.insert(out.level.end(), level.data() + row * categorical,
                     level.data() + (row + 1) * categorical);
  }
  return out;
}

FrameEncoder::FrameEncoder(const Frame& frame, std::span<const uint64_t> training_rows,
                           const std::vector<std::string>& targets, bool standardise,
                           std::vector<std::string>& notes)
    : standardise_(standardise) {
  SELFNORM_CHECK(!training_rows.empty());
  SELFNORM_CHECK(*std::max_element(training_rows.begin(), training_rows.end()) < frame.rows);
  std::vector<LearnedColumn> learned(frame.columns.size());
  parallel_units(learned.size(), [&](size_t c) {
    const FrameColumn& column = frame.columns[c];
    if (std::find(targets.begin(), targets.end(), column.name) == targets.end())
      learned[c] = learn_column(column, training_rows, standardise);
  });
  for (LearnedColumn& column : learned) {
    if (!column.reason.empty())
      notes.push_back(fmt::format("column {}{}: {}", quoted_text(column.column.name),
                                  column.is_used ? "" : " is left out", column.reason));
    if (column.is_used) used_.push_back(std::move(column.column));
  }
}

uint32_t FrameEncoder::numeric_inputs() const {
  uint32_t inputs = 0;
  for (const InputColumn& column : used_) inputs += inputs_of(column);
  return inputs;
}

std::vector<uint32_t> FrameEncoder::levels() const {
  std::vector<uint32_t> out;
  for (const InputColumn& column : used_)
    if (!column.is_numeric)
      out.push_back(1 + static_cast<uint32_t>(column.levels.size()) + uint32_t{column.has_missing});
  return out;
}

std::vector<std::string> FrameEncoder::columns() const {
  std::vector<std::string> out;
  for (const InputColumn& column : used_) out.push_back(column.name);
  return out;
}

FrameOptions FrameEncoder::reading() const {
  FrameOptions options;
  for (const InputColumn& column : used_)
    (column.is_numeric ? options.numeric : options.categorical).push_back(column.name);
  return options;
}

EncodedFrame FrameEncoder::encode(const Frame& frame, EncodingReport& report) const {
  StringIndex names;
  for (const FrameColumn& column : frame.columns) names.add(column.name);
  std::vector<const FrameColumn*> from;
  std::vector<uint32_t> place;
  EncodedFrame out;
  out.rows = frame.rows;
  for (const InputColumn& as : used_) {
    const auto c = names.find(as.name);
    if (!c)
      throw_at(frame.file, 0,
               "found no column {}, which the model needs; expected the columns {}, named in the first line, "
               "which names {}",
               quoted_text(as.name), shown_names(columns()), shown_names(names.strings()));
    from.push_back(&frame.columns[*c]);
    if (as.is_numeric && !from.back()->is_numeric) fail_text(frame, *from.back(), "column");
    if (!as.is_numeric && from.back()->is_numeric)
      throw_at(frame.file, 0, "column {} was read as numbers, expected a categorical one as in training",
               quoted_text(as.name));
    place.push_back(as.is_numeric ? out.numeric : out.categorical);
    out.numeric += inputs_of(as);
    out.categorical += as.is_numeric ? 0 : 1;
  }
  require_memory(4.0 * static_cast<double>(out.rows) * (out.numeric + out.categorical),
                 fmt::format("{}: {} rows of {} inputs", frame.file, out.rows, out.numeric + out.categorical),
                 "take fewer rows at a time");
  out.number.resize(out.rows * out.numeric);
  out.level.resize(out.rows * out.categorical);
  std::vector<EncodingReport::Count> count(used_.size());
  const double limit = standardise_ ? double{kLargestInput} : double{std::numeric_limits<float>::max()};
  parallel_units(used_.size(), [&](size_t c) {
    count[c].column = used_[c].name;
    if (used_[c].is_numeric)
      encode_numeric(*from[c], used_[c], limit, place[c], out, count[c]);
    else
      encode_categorical(*from[c], used_[c], place[c], out, count[c]);
  });
  report.columns.clear();
  for (const EncodingReport::Count& c : count)
    if (c.missing + c.unseen + c.clipped > 0) report.columns.push_back(c);
  return out;
}

// {"standardise": true, "columns": [{"name": "x", "kind": "numeric", "mean": 0, "scale": 1, "value": true,
//  "missing": false}, {"name": "g", "kind": "categorical", "levels": ["a", "b"], "missing": true}]}

std::string FrameEncoder::json() const {
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (const InputColumn& c : used_) {
    nlohmann::ordered_json column = {{"name", c.name}, {"kind", c.is_numeric ? "numeric" : "categorical"}};
    if (c.is_numeric)
      column.update({{"mean", c.mean}, {"scale", c.scale}, {"value", c.has_value}});
    else
      column["levels"] = c.levels;
    column["missing"] = c.has_missing;
    columns.push_back(std::move(column));
  }
  return nlohmann::ordered_json{{"standardise", standardise_}, {"columns", columns}}.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

FrameEncoder FrameEncoder::from_json(const std::string& text) {
  require(text.size() <= kLongestJson, fmt::format("at most {} MiB of them", kLongestJson >> 20));
  FrameEncoder encoder;
  try {
    const auto json = nlohmann::json::parse(text);
    encoder.standardise_ = json.at("standardise").get<bool>();
    require(json.at("columns").is_array() && json.at("columns").size() <= kMostColumns,
            fmt::format("a list of at most {} columns", kMostColumns));
    StringIndex seen;
    for (const auto& column : json.at("columns")) {
      encoder.used_.push_back(column_from(column));
      require(seen.add(encoder.used_.back().name) + 1 == encoder.used_.size(), "names that differ");
    }
  } catch (const nlohmann::json::exception& error) {
    throw_error("the columns of the model are damaged: {}", error.what());
  }
  return encoder;
}

}  // namespace selfnorm
