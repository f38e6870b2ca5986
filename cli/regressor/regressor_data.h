// MODEL where it may be a regressor, and tables as its commands read them.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "data/table/frame.h"
#include "data/table/frame_encoder.h"
#include "model/regressor/regressor.h"

namespace selfnorm::cli {

struct NamedRegressor {
  std::string path;  // of the file itself
  Regressor model;
};
// Of a model of this family; throws Error for what is none.
NamedRegressor open_regressor(const std::string& model, EmbeddedCode code);

// Rows as a model takes them, with their targets.
struct RegressionRows {
  EncodedFrame inputs;
  std::vector<double> target;  // rows x targets in the units of the data, NaN: missing; empty: none are there
  std::vector<double> high;    // upper ends of targets that are intervals, `target` having the lower ones
  EncodingReport report;
};

enum class TargetNeed { kOptional, kRequired };

// Reads a table as the model wants it. `options`: columns that are ignored, and the header.
Frame read_frame_for(const Regressor& model, const std::string& path, FrameOptions options, TargetNeed need);
// Throws DataError for text in a target; kRequired: for a target that is not there.
RegressionRows regression_rows(const Regressor& model, const Frame& frame, TargetNeed need);
// Of some rows of a frame that has all targets in them.
RegressionRows regression_rows(const Regressor& model, const Frame& frame, std::span<const uint64_t> rows);

// A sentence for every column with values that are missing, were not seen in training or lie too far out.
std::vector<std::string> encoding_notes(const EncodingReport& report);
nlohmann::ordered_json encoding_json(const EncodingReport& report);

}  // namespace selfnorm::cli
