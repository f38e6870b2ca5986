// A JSON value as a tree, for the settings that model files hold beside their tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace selfnorm::runtime {

struct JsonValue {
  enum class Kind { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  bool boolean = false;
  double number = 0;
  std::string text{};
  std::vector<JsonValue> items{};   // of a list or an object
  std::vector<std::string> keys{};  // of an object, in the order of `items`

  // The member of this name and kind; throws FormatError naming `where` otherwise.
  const JsonValue& at(std::string_view key, Kind expected, const std::string& where) const;
  uint32_t whole(std::string_view key, uint32_t most, const std::string& where) const;
  std::vector<uint32_t> wholes(std::string_view key, uint32_t most, const std::string& where) const;
};

// Throws FormatError naming `where` for what is no JSON, or nests deeper than 16.
JsonValue parse_json(std::string_view text, const std::string& where);

}  // namespace selfnorm::runtime
