#include "data/table/table_encoder.h"

#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "base/option_table.h"

namespace selfnorm {
namespace {

using Json = nlohmann::ordered_json;

Json text_json(const TextEncoder& encoder) {
  TextOptions options = encoder.options();
  Json values = Json::object();
  const OptionTable table = text_option_table(options);
  for (const Option& row : table.rows()) values[row.name] = row.value();
  return {{"options", values}, {"vocabulary", encoder.vocabulary()}, {"idf", encoder.idf()}};
}

TextEncoder text_from(const Json& json) {
  TextOptions options;
  Options given;
  for (const auto& [name, value] : json.at("options").items()) given.emplace(name, value.get<std::string>());
  text_option_table(options).set(given);
  options.validate();
  return {options, json.at("vocabulary").get<std::vector<std::string>>(),
          json.at("idf").get<std::vector<float>>()};
}

}  // namespace

std::string TableEncoder::json() const {
  Json out = {{"text_columns", text_columns}, {"frame", Json::parse(frame.json())}};
  if (text) out["text"] = text_json(*text);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

TableEncoder TableEncoder::from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    TableEncoder out{.text_columns = json.at("text_columns").get<std::vector<std::string>>(),
                     .frame = FrameEncoder::from_json(json.at("frame").dump())};
    if (json.contains("text")) out.text = text_from(json["text"]);
    return out;
  } catch (const nlohmann::json::exception& error) {
    throw_error("the columns of the model are damaged: {}", error.what());
  }
}

std::vector<std::string> TableEncoder::feature_names() const {
  std::vector<std::string> names, levels;
  const Json record = Json::parse(frame.json());
  for (const Json& column : record["columns"]) {
    const std::string name = column["name"];
    const bool has_missing = column["missing"];
    if (column["kind"] == "numeric") {
      if (column["value"]) names.push_back(name);
      if (has_missing) names.push_back(name + " missing");
      continue;
    }
    for (const Json& level : column["levels"]) levels.push_back(name + "=" + level.get<std::string>());
    if (has_missing) levels.push_back(name + " missing");
  }
  names.insert(names.end(), levels.begin(), levels.end());
  if (text) names.insert(names.end(), text->vocabulary().begin(), text->vocabulary().end());
  return names;
}

}  // namespace selfnorm
