#include "selfnorm/data/frame_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "frame_text.h"
#include "input_columns.h"
#include "quote.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/memory.h"
#include "selfnorm/data/string_index.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm {
namespace {

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
      throw DataError(frame.file, 0,
                      fmt::format("found no column {}, which the model needs; expected the columns of its "
                                  "training data",
                                  quoted_text(as.name)));
    from.push_back(&frame.columns[*c]);
    if (as.is_numeric && !from.back()->is_numeric) fail_text(frame, *from.back(), "column");
    if (!as.is_numeric && from.back()->is_numeric)
      throw DataError(frame.file, 0,
                      fmt::format("column {} was read as numbers, expected a categorical one as in training",
                                  quoted_text(as.name)));
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

}  // namespace selfnorm
