// A value in a JSON file and where it is, so that errors can say so: "a.json: sections[0].title: ...".
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "selfnorm/error.h"

namespace selfnorm {

class JsonPlace {
 public:
  // Keeps a reference to the value.
  JsonPlace(const nlohmann::json& json, std::string place) : json_(&json), place_(std::move(place)) {}

  const nlohmann::json& json() const { return *json_; }
  // Throws Error: what was found here, what was expected.
  [[noreturn]] void fail(const std::string& expected) const;

  bool has(const char* key) const { return json_->is_object() && json_->contains(key); }
  JsonPlace at(const char* key) const;  // throws Error when there is none

  std::string text() const;
  double number() const;         // finite
  double number_or_nan() const;  // null is NaN
  std::string text(const char* key) const { return at(key).text(); }
  double number(const char* key) const { return at(key).number(); }
  std::string text_or(const char* key, const std::string& otherwise) const;
  std::optional<double> optional_number(const char* key) const;
  bool flag(const char* key) const;  // false when it is not there

  std::vector<JsonPlace> items() const;
  std::vector<JsonPlace> items(const char* key) const;  // none when it is not there
  std::vector<std::string> texts(const char* key) const;
  std::vector<double> numbers(const char* key) const;  // null is NaN
  size_t count(const char* key, size_t most) const;    // a whole number from 0 to `most`

 private:
  const nlohmann::json* json_;
  std::string place_;
};

// null for what is not finite.
inline nlohmann::ordered_json json_value(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}
inline nlohmann::ordered_json json_value(const std::string& value) { return value; }

}  // namespace selfnorm
