#include "document/json_place.h"

#include <limits>

#include "base/failure.h"

namespace selfnorm {
namespace {

constexpr size_t kLongestQuoted = 40;

std::string found(const nlohmann::json& json) {
  if (json.is_structured()) return fmt::format("an {} of {}", json.type_name(), json.size());
  std::string text = json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongestQuoted) text = text.substr(0, kLongestQuoted) + "...";
  return text;
}

}  // namespace

void JsonPlace::fail(const std::string& expected) const {
  throw_error("{}: found {}, expected {}", place_, found(*json_), expected);
}

JsonPlace JsonPlace::at(const char* key) const {
  if (!has(key)) fail(fmt::format("an object with \"{}\"", key));
  return {(*json_)[key], fmt::format("{}: {}", place_, key)};
}

std::string JsonPlace::text() const {
  if (!json_->is_string()) fail("a text");
  return json_->get<std::string>();
}

double JsonPlace::number() const {
  if (!json_->is_number()) fail("a number");
  return json_->get<double>();
}

double JsonPlace::number_or_nan() const {
  return json_->is_null() ? std::numeric_limits<double>::quiet_NaN() : number();
}

std::string JsonPlace::text_or(const char* key, const std::string& otherwise) const {
  return has(key) ? at(key).text() : otherwise;
}

std::optional<double> JsonPlace::optional_number(const char* key) const {
  if (!has(key) || (*json_)[key].is_null()) return std::nullopt;
  return at(key).number();
}

bool JsonPlace::flag(const char* key) const {
  if (!has(key)) return false;
  if (!(*json_)[key].is_boolean()) at(key).fail("true or false");
  return (*json_)[key].get<bool>();
}

std::vector<JsonPlace> JsonPlace::items() const {
  if (!json_->is_array()) fail("an array");
  std::vector<JsonPlace> out;
  for (size_t i = 0; i < json_->size(); ++i) out.emplace_back((*json_)[i], fmt::format("{}[{}]", place_, i));
  return out;
}

std::vector<JsonPlace> JsonPlace::items(const char* key) const {
  return has(key) ? at(key).items() : std::vector<JsonPlace>();
}

std::vector<std::string> JsonPlace::texts(const char* key) const {
  std::vector<std::string> out;
  for (const JsonPlace& item : items(key)) out.push_back(item.text());
  return out;
}

std::vector<double> JsonPlace::numbers(const char* key) const {
  std::vector<double> out;
  if (!has(key)) return out;
  const JsonPlace list = at(key);
  if (!list.json().is_array()) list.fail("an array of numbers");
  out.reserve(list.json().size());
  for (const nlohmann::json& item : list.json()) {
    if (!item.is_number() && !item.is_null()) list.fail("numbers and null only");
    out.push_back(item.is_null() ? std::numeric_limits<double>::quiet_NaN() : item.get<double>());
  }
  return out;
}

size_t JsonPlace::count(const char* key, size_t most) const {
  const double value = number(key);
  if (!(value >= 0 && value <= static_cast<double>(most)) || value != std::trunc(value))
    at(key).fail(fmt::format("a whole number from 0 to {}", most));
  return static_cast<size_t>(value);
}

}  // namespace selfnorm
