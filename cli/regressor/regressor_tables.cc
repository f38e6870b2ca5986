#include "regressor/regressor_tables.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/failure.h"
#include "data/example_source.h"
#include "data/string_index.h"
#include "data/table/frame.h"
#include "output.h"
#include "run/training_run.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kListed = 20;

std::string column_list(const Frame& frame) {
  std::vector<std::string> names;
  for (const FrameColumn& column : frame.columns) names.push_back(column.name);
  return short_list(names);
}

// The members of an ensemble hold out rows of their own, so that with --test none are needed besides.
double fraction_held_out(const RegressorArguments& given, uint64_t rows) {
  const bool has_enough = resolved_by_rows(given.options, rows).ensemble > 1 && !given.test.empty();
  return has_enough && given.run.hold_out == "auto" ? 0 : hold_out_fraction(given.run, rows);
}

bool has_value(const FrameColumn& column) {
  return column.is_numeric ? std::any_of(column.number.begin(), column.number.end(),
                                         [](double x) { return !std::isnan(x); })
                           : !column.levels.empty();
}

template <typename T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string frame_text(const std::string& path, const Frame& frame) {
  return fmt::format("{}: {} rows, {} columns", path, grouped(frame.rows), frame.columns.size());
}

// Rows that have every target; says how many have not, or refuses them.
std::vector<uint64_t> usable_rows(const Frame& frame, const std::vector<std::string>& targets,
                                  const TargetColumns& first, bool skips, std::vector<std::string>& notes) {
  const std::vector<uint64_t> without =
      first.has_ends() ? rows_without_ends(frame, first) : rows_without_targets(frame, targets);
  if (without.empty() || skips) {
    if (!without.empty())
      notes.push_back(
          fmt::format("{}: {} rows without a target left out", frame.file, grouped(without.size())));
    if (without.size() == frame.rows)
      throw_error("{}: no row has a target ({})", frame.file, fmt::join(targets, ", "));
    std::vector<uint64_t> rows;
    for (uint64_t row = 0; row < frame.rows; ++row)
      if (!std::ranges::binary_search(without, row)) rows.push_back(row);
    return rows;
  }
  throw_at(frame.file, frame.line[without[0]],
           "found no target ({}), in {} of {} rows; expected one in every row, or --skip-missing-targets, "
           "which leaves them out",
           fmt::join(targets, ", "), grouped(without.size()), grouped(frame.rows));
}

// The columns `given` means, names or zero-based indices; none: y or target. Throws Error that lists the
// columns.
std::vector<std::string> target_names(const Frame& frame, const std::vector<std::string>& given) {
  if (given.empty()) {
    for (const char* name : {"y", "target"})
      if (frame.find(name) != nullptr) return {name};
    throw_error(
        "{}: found no column y or target; say by --target which of its columns is to be predicted: {}",
        frame.file, column_list(frame));
  }
  std::vector<std::string> names;
  for (const std::string& word : given) {
    size_t index = 0;
    const char* end = word.data() + word.size();
    if (frame.find(word) != nullptr) {
      names.push_back(word);
    } else if (const auto parsed = std::from_chars(word.data(), end, index);
               parsed.ec == std::errc() && parsed.ptr == end && index < frame.columns.size()) {
      names.push_back(frame.columns[index].name);
    } else {
      throw_error("--target {}: {} has no such column; expected one or more of {}", word, frame.file,
                  column_list(frame));
    }
  }
  return names;
}

// The rows of `first`, then those of `second`, which has its columns and kinds; what `second` has besides is
// left out. A column without any value in `first` has none in the result.
Frame joined_frames(Frame first, const Frame& second) {
  for (FrameColumn& column : first.columns) {
    if (!has_value(column)) {
      if (column.is_numeric)
        column.number.resize(first.rows + second.rows, NAN);
      else
        column.level.resize(first.rows + second.rows, kMissingLevel);
      continue;
    }
    const FrameColumn* other = second.find(column.name);
    if (other == nullptr || other->is_numeric != column.is_numeric)
      throw_at(second.file, 0, "found no {} column {}, expected the columns of {}",
               column.is_numeric ? "numeric" : "categorical", column.name, first.file);
    column.number.insert(column.number.end(), other->number.begin(), other->number.end());
    if (column.is_numeric) continue;
    StringIndex places;
    for (const std::string& level : column.levels) places.add(level);
    std::vector<uint32_t> place;
    for (const std::string& level : other->levels) {
      place.push_back(places.add(level));
      if (place.back() == column.levels.size()) column.levels.push_back(level);
    }
    for (const uint32_t level : other->level)
      column.level.push_back(level == kMissingLevel ? level : place[level]);
  }
  first.rows += second.rows;
  first.line.insert(first.line.end(), second.line.begin(), second.line.end());
  return first;
}

// How another file has to be read to be joined to `frame`.
FrameOptions reading_like(const Frame& frame, const std::string& header) {
  FrameOptions options{.header = header};
  for (const FrameColumn& column : frame.columns)
    if (has_value(column)) (column.is_numeric ? options.numeric : options.categorical).push_back(column.name);
  return options;
}

// {"path", "rows", "columns", "hash"} of config.json.
Json frame_record(const std::string& path, const Frame& frame) {
  std::string marks;
  for (const FrameColumn& column : frame.columns) {
    marks += fmt::format("{} {:x} {:x}", column.name, hash_bytes(bytes_of(column.number)),
                         hash_bytes(bytes_of(column.level)));
    for (const std::string& level : column.levels) marks += "\n" + level;
  }
  return {{"path", path},
          {"rows", frame.rows},
          {"columns", frame.columns.size()},
          {"hash", fmt::format("{:016x}", hash_bytes(marks))}};
}

}  // namespace

Frame taken_rows(const Frame& frame, std::span<const uint64_t> rows) {
  Frame out{.file = frame.file, .rows = rows.size()};
  for (const uint64_t row : rows) out.line.push_back(frame.line[row]);
  for (const FrameColumn& from : frame.columns) {
    FrameColumn& column = out.columns.emplace_back(
        FrameColumn{.name = from.name, .is_numeric = from.is_numeric, .levels = from.levels});
    for (const uint64_t row : rows)
      if (from.is_numeric)
        column.number.push_back(from.number[row]);
      else
        column.level.push_back(from.level[row]);
  }
  return out;
}

std::string short_list(const std::vector<std::string>& names) {
  if (names.size() <= kListed) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{}, ... ({} in all)", fmt::join(names.begin(), names.begin() + kListed, ", "),
                     names.size());
}

TrainingTables read_tables(const Arguments& arguments) {
  const RegressorArguments& given = arguments.regressor;
  const std::string& header = arguments.reader.header;
  TrainingTables out;
  out.frame =
      read_frame(given.run.train,
                 {.categorical = given.options.categorical, .ignored = given.ignored, .header = header});
  if (given.target_low.empty() != given.options.target_high.empty() ||
      (!given.target_low.empty() && !given.target.empty()))
    throw Error(
        "targets that are intervals have their lower ends in --target-low and their upper ones in "
        "--target-high; "
        "expected both, without --target");
  out.targets =
      target_names(out.frame, given.target_low.empty() ? given.target : std::vector{given.target_low});
  for (const std::string& name : {given.options.target_high, given.options.weight})
    if (!name.empty() && out.frame.find(name) == nullptr)
      throw_error("{} has no column {}; expected one or more of {}", given.run.train, name,
                  column_list(out.frame));
  const TargetColumns first = given.options.target(out.targets[0]);
  out.record = frame_record(given.run.train, out.frame);
  out.notes.push_back(fmt::format("read {}, target {}", frame_text(given.run.train, out.frame),
                                  fmt::join(out.targets, ", ")));
  out.train = usable_rows(out.frame, out.targets, first, given.skip_missing_targets, out.notes);
  const auto read_other = [&](const std::string& path, const char* name, Json& record) {
    Frame other = read_frame(path, reading_like(out.frame, header));
    out.notes.push_back(fmt::format("{}: {}", name, frame_text(path, other)));
    record = frame_record(path, other);
    return taken_rows(other, usable_rows(other, out.targets, first, given.skip_missing_targets, out.notes));
  };
  if (!given.test.empty()) out.test = read_other(given.test, "test", out.test_record);
  if (!given.run.valid.empty()) {
    const Frame valid = read_other(given.run.valid, "validation", out.valid_record);
    out.valid.resize(valid.rows);
    std::iota(out.valid.begin(), out.valid.end(), out.frame.rows);
    out.frame = joined_frames(std::move(out.frame), valid);
  } else if (const double fraction = fraction_held_out(given, out.train.size());
             fraction > 0 && out.train.size() > 1) {
    const auto [kept, held] = random_split(out.train.size(), fraction, given.options.seed);
    const auto rows_of = [&out](const std::vector<uint64_t>& places) {
      std::vector<uint64_t> rows;
      rows.reserve(places.size());
      for (const uint64_t place : places) rows.push_back(out.train[place]);
      return rows;
    };
    out.valid = rows_of(held);
    out.train = rows_of(kept);
    out.notes.push_back(fmt::format("held out: {} rows", grouped(out.valid.size())));
  }
  return out;
}

}  // namespace selfnorm::cli
