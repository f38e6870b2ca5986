#include "regressor/regressor_data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/failure.h"
#include "classifier/model_header.h"
#include "commands.h"
#include "data/table/frame.h"
#include "density/density_model.h"
#include "output.h"

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

// In the units of the data; infinite ones as text, since JSON has none.
Json bounds(const Regressor& model, const std::vector<double>& standardised) {
  Json out = Json::array();
  for (size_t j = 0; j < standardised.size(); ++j) {
    const double bound = model.target_mean[j] + model.target_scale[j] * standardised[j];
    if (std::isfinite(bound))
      out.push_back(bound);
    else
      out.push_back(bound < 0 ? "-inf" : "inf");
  }
  return out;
}

Json widths_of(const DenseNetwork* network) {
  return network == nullptr ? Json() : Json(network->shape().widths);
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
  if (need == TargetNeed::kRequired) {
    reading.numeric.insert(reading.numeric.end(), model.targets.begin(), model.targets.end());
    if (!model.target_high.empty()) reading.numeric.push_back(model.target_high);
  }
  return read_frame(path, reading);
}

RegressionRows regression_rows(const Regressor& model, const Frame& frame, TargetNeed need) {
  RegressionRows out;
  out.inputs = model.encoder.encode(frame, out.report);
  if (model.target().has_ends()) {
    const TargetColumns columns = model.target();
    if (need == TargetNeed::kOptional && (frame.find(columns.name) == nullptr ||
                                          (!columns.high.empty() && frame.find(columns.high) == nullptr)))
      return out;
    const std::vector<uint64_t> without = rows_without_ends(frame, columns);
    if (!without.empty() && need == TargetNeed::kRequired)
      throw_at(frame.file, frame.line[without[0]],
               "found no target ({}) in {} of {} rows, expected one in every row; leave those rows out",
               columns.name, grouped(without.size()), grouped(frame.rows));
    std::vector<uint64_t> rows;
    for (uint64_t row = 0; row < frame.rows; ++row)
      if (!std::ranges::binary_search(without, row)) rows.push_back(row);
    const TargetEnds ends = target_ends(frame, columns, rows);
    out.target.assign(frame.rows, NAN);
    out.high.assign(frame.rows, NAN);
    for (size_t i = 0; i < rows.size(); ++i) {
      out.target[rows[i]] = ends.low[i];
      out.high[rows[i]] = ends.high[i];
    }
    return out;
  }
  if (need == TargetNeed::kOptional) {
    out.target = optional_targets(model.targets, frame);
    return out;
  }
  if (const auto without = rows_without_targets(frame, model.targets); !without.empty())
    throw_at(frame.file, frame.line[without[0]],
             "found no target ({}) in {} of {} rows, expected one in every row; leave those rows out",
             fmt::join(model.targets, ", "), grouped(without.size()), grouped(frame.rows));
  std::vector<uint64_t> all = rows_with_targets(frame, model.targets);
  out.target = numeric_targets(frame, model.targets, all);
  return out;
}

RegressionRows regression_rows(const Regressor& model, const Frame& frame, std::span<const uint64_t> rows) {
  RegressionRows out;
  out.inputs = model.encoder.encode(frame, out.report).take(rows);
  if (model.target().has_ends()) {
    TargetEnds ends = target_ends(frame, model.target(), rows);
    out.target = std::move(ends.low);
    out.high = std::move(ends.high);
    return out;
  }
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

Json encoding_json(const EncodingReport& report) {
  Json columns = Json::object();
  for (const EncodingReport::Count& count : report.columns)
    columns[count.column] = {
        {"missing", count.missing}, {"unseen", count.unseen}, {"clipped", count.clipped}};
  return columns;
}

Json regressor_info(const Arguments& arguments) {
  auto [path, model] = open_regressor(arguments.info_model, EmbeddedCode::seal);
  size_t parameters = 0;
  for (RegressorNetworks& member : model.members)
    for (const std::span<float> part : member.parameters()) parameters += part.size();
  const RegressorNetworks& first = model.members.front();
  const EnergyRecord features = first.features->record();
  Json info = {
      {"path", path},
      {"bytes", std::filesystem::file_size(path)},
      {"family", "regressor"},
      {"targets", model.targets},
      {"target_kind", model.target_kind},
      {"target_mean", model.target_mean},
      {"target_scale", model.target_scale},
      {"columns", model.encoder.columns()},
      {"inputs",
       {{"numeric", model.encoder.numeric_inputs()}, {"categorical", model.encoder.levels().size()}}},
      {"ensemble", model.members.size()},
      {"parameters", parameters},
      {"features", {{"kind", features.kind}, {"settings", Json::parse(features.settings)}}},
      {"components", model.mixture.components}};
  if (!features.module.empty()) {
    info["parameters"] = nullptr;  // most are in the module
    info["module"] = module_info(features);
  }
  if (!model.mixture.lower.empty()) {
    info["lower"] = bounds(model, model.mixture.lower);
    info["upper"] = bounds(model, model.mixture.upper);
  }
  if (first.tilt != nullptr) {
    info["tilt"] = Json::parse(first.tilt->record().settings);
    info["own_features"] = first.tilt_features != nullptr;
    info["base"] = model.has_base ? "proposal" : "broad";
    info["tail_weight"] = model.tail_weight;
    info["normalizer"] = {{"kind", model.normalizer_kind}, {"widths", widths_of(first.normalizer.get())}};
  } else {
    info["tilt"] = nullptr;
    info["tail_weight"] = model.tail_weight;
  }
  info["temperature"] = Json::array();
  for (const RegressorNetworks& member : model.members) info["temperature"].push_back(member.temperature);
  info["objective"] = Json::parse(model.objective_json);
  info["training"] = Json::parse(model.training_json);
  info["audit"] = Json::parse(model.audit_json);
  return info;
}

}  // namespace selfnorm::cli
