#include "data/table/json_lines.h"

#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "data/input/characters.h"
#include "data/input/records.h"
#include "data/input/sniff.h"
#include "data/read.h"
#include "data/string_index.h"
#include "data/write.h"

namespace selfnorm {
namespace {

using Json = nlohmann::ordered_json;

Json parsed_object(std::string_view line, const std::string& file, uint64_t number) {
  Json object = Json::parse(line, nullptr, false);
  if (object.is_discarded() || !object.is_object())
    throw_at(file, number, "found {}, expected one JSON object on every line", quoted_text(line));
  for (const auto& [key, value] : object.items())
    if (value.is_structured())
      throw_at(file, number,
               "the value of {} is a list or an object; expected a text, a number, true, false or null",
               quoted_text(key));
  return object;
}

std::string field_of(const Json& value) {
  if (value.is_null()) return "";
  return csv_field(value.is_string() ? value.get<std::string>() : value.dump());
}

// Source whose bytes are its own.
class OwnedBytes : public ByteSource {
 public:
  explicit OwnedBytes(std::string bytes) : bytes_(std::move(bytes)) {}
  size_t read(char* to, size_t n) override {
    const size_t got = bytes_.copy(to, n, given_);
    given_ += got;
    return got;
  }

 private:
  std::string bytes_;
  size_t given_ = 0;
};

}  // namespace

bool is_json_lines(Input& input) { return input.peek(1) == "{" && !is_safetensors_head(input.peek(9)); }

std::string json_lines_table(Input& input) {
  const std::string text = input.read_rest(), file = input.name();
  StringIndex keys;
  std::vector<Json> objects;
  uint64_t lines = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = take_record(rest, {}, lines);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    objects.push_back(parsed_object(line, file, lines));
    for (const auto& [key, value] : objects.back().items()) keys.add(key);
  }
  std::string table;
  for (uint32_t c = 0; c < keys.size(); ++c) table += (c > 0 ? "," : "") + csv_field(std::string(keys[c]));
  table += "\n";
  for (const Json& object : objects) {
    std::string line;
    for (uint32_t c = 0; c < keys.size(); ++c) {
      const auto found = object.find(std::string(keys[c]));
      line += (c > 0 ? "," : "") + (found == object.end() ? std::string() : field_of(*found));
    }
    table += (line.empty() ? "\"\"" : line) + "\n";
  }
  return table;
}

std::unique_ptr<Input> opened_table(std::unique_ptr<Input> input) {
  input->skip_byte_order_mark();
  if (!is_json_lines(*input)) return input;
  const std::string name = input->name() + " (as a table)";
  return Input::from(name, std::make_unique<OwnedBytes>(json_lines_table(*input)));
}

}  // namespace selfnorm
