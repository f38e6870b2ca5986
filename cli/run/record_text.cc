#include "run/record_text.h"

#include "base/failure.h"
#include "base/json_text.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm::cli {
namespace {

using Json = nlohmann::ordered_json;

void require(bool good, const std::string& path, const std::string& key, const char* expected) {
  if (!good)
    throw_error("{}: not the record of a run: \"{}\" is not {}", path, runtime::shortened(key), expected);
}

}  // namespace

Json parse_record(const std::string& text, const std::string& path) {
  Json record = bounded_json<Json>(text);
  if (!record.is_object() || !record.contains("options") || !record["options"].is_object()) {
    throw_error("{}: not the record of a run; expected JSON with \"options\"", path);
  }
  const auto is_text = [](const Json& object, const char* key) {
    return !object.contains(key) || object[key].is_string();
  };
  require(is_text(record, "command"), path, "command", "a text");
  for (const char* key : {"TRAIN", "CORPUS", "DATA"})
    require(is_text(record["options"], key), path, key, "a text");
  for (const auto& [key, value] : record["options"].items())
    require(value.is_primitive(), path, key, "a word, a number, true or false");
  for (const char* key : {"data", "valid"}) {
    if (!record.contains(key) || record[key].is_null()) continue;
    require(record[key].is_object(), path, key, "an object");
    for (const char* name : {"path", "hash"})
      require(is_text(record[key], name), path, fmt::format("{}.{}", key, name), "a text");
  }
  return record;
}

}  // namespace selfnorm::cli
