// {"standardise": true, "columns": [{"name": "x", "kind": "numeric", "mean": 0, "scale": 1, "value": true,
//  "missing": false}, {"name": "g", "kind": "categorical", "levels": ["a", "b"], "missing": true}]}
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "quote.h"
#include "selfnorm/base/error.h"
#include "selfnorm/data/frame_encoder.h"
#include "selfnorm/data/string_index.h"

namespace selfnorm {
namespace {

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
    throw Error(fmt::format("the columns of the model are damaged: {}", error.what()));
  }
  return encoder;
}

}  // namespace selfnorm
