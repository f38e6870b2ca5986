#include "regressor/regressor_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "classifier/model_header.h"
#include "data/table/frame.h"
#include "output.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

// NaN where a target is missing; empty when a column is not there.
std::vector<double> optional_targets(const std::vector<std::string>& names, const Frame& frame) {
  for (const std::string& name : names)
    if (frame.find(name) == nullptr) return {};
  const std::vector<uint64_t> rows = rows_with_targets(frame, names);
  const std::vector<double> there = numeric_targets(frame, names, rows);
  std::vector<double> target(frame.rows * names.size(), NAN);
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < names.size(); ++j)
      target[rows[i] * names.size() + j] = there[i * names.size() + j];
  return target;
}

}  // namespace

NamedRegressor open_regressor(const std::string& model, EmbeddedCode code) {
  const std::string path = finished_model_path(model);
  return {path, load_regressor(path, code)};
}

Frame read_frame_for(const Regressor& model, const std::string& path, FrameOptions options, TargetNeed need) {
  FrameOptions reading = model.encoder.reading();
  reading.ignored = std::move(options.ignored);
  reading.header = std::move(options.header);
  if (need == TargetNeed::kRequired)
    reading.numeric.insert(reading.numeric.end(), model.targets.begin(), model.targets.end());
  return read_frame(path, reading);
}

RegressionRows regression_rows(const Regressor& model, const Frame& frame, TargetNeed need) {
  RegressionRows out;
  out.inputs = model.encoder.encode(frame, out.report);
  if (need == TargetNeed::kOptional) {
    out.target = optional_targets(model.targets, frame);
    return out;
  }
  if (const auto without = rows_without_targets(frame, model.targets); !without.empty())
    throw DataError(
        frame.file, frame.line[without[0]],
        fmt::format("found no target ({}) in {} of {} rows, expected one in every row; leave those rows out",
                    fmt::join(model.targets, ", "), grouped(without.size()), grouped(frame.rows)));
  std::vector<uint64_t> all = rows_with_targets(frame, model.targets);
  out.target = numeric_targets(frame, model.targets, all);
  return out;
}

RegressionRows regression_rows(const Regressor& model, const Frame& frame, std::span<const uint64_t> rows) {
  RegressionRows out;
  out.inputs = model.encoder.encode(frame, out.report).take(rows);
  out.target = numeric_targets(frame, model.targets, rows);
  return out;
}

std::vector<std::string> encoding_notes(const EncodingReport& report) {
  std::vector<std::string> notes;
  for (const EncodingReport::Count& count : report.columns) {
    std::vector<std::string> parts;
    if (count.missing > 0) parts.push_back(fmt::format("{} missing", grouped(count.missing)));
    if (count.unseen > 0)
      parts.push_back(fmt::format("{} of levels that training did not have, taken for the average level",
                                  grouped(count.unseen)));
    if (count.clipped > 0)
      parts.push_back(fmt::format("{} beyond {} standard deviations of the training rows, held there",
                                  grouped(count.clipped), kLargestInput));
    notes.push_back(fmt::format("column {}: {}", count.column, fmt::join(parts, "; ")));
  }
  return notes;
}

nlohmann::ordered_json encoding_json(const EncodingReport& report) {
  nlohmann::ordered_json columns = nlohmann::ordered_json::object();
  for (const EncodingReport::Count& count : report.columns)
    columns[count.column] = {
        {"missing", count.missing}, {"unseen", count.unseen}, {"clipped", count.clipped}};
  return columns;
}

}  // namespace selfnorm::cli
