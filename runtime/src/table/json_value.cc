#include "json_value.h"

#include <charconv>
#include <cmath>

#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/json_cursor.h"

namespace selfnorm::runtime {
namespace {

constexpr int kDeepest = 16;
constexpr std::string_view kSpace = " \t\r\n";

class JsonTree {
 public:
  JsonTree(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  JsonValue whole() {
    JsonValue out = value(0);
    skip();
    if (!rest_.empty()) fail("its end");
    return out;
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    throw FormatError(where_ + ": is no JSON, expected " + expected + " at \"" +
                      std::string(rest_.substr(0, 20)) + "\"");
  }
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size())); }
  bool accept(std::string_view token) {
    skip();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  // Strings are read by the one reader of them, which finds their ends itself.
  std::string string() {
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) fail("a closing quote");
    JsonCursor cursor(rest_.substr(0, end + 1), where_);
    std::string out = cursor.string();
    rest_.remove_prefix(end + 1);
    return out;
  }

  JsonValue value(int depth) {
    if (depth > kDeepest) fail("fewer levels");
    JsonValue out;
    if (accept("{")) {
      out.kind = JsonValue::Kind::object;
      if (accept("}")) return out;
      do {
        skip();
        if (!rest_.starts_with('"')) fail("a name");
        out.keys.push_back(string());
        if (!accept(":")) fail("':'");
        out.items.push_back(value(depth + 1));
      } while (accept(","));
      if (!accept("}")) fail("'}'");
    } else if (accept("[")) {
      out.kind = JsonValue::Kind::list;
      if (accept("]")) return out;
      do out.items.push_back(value(depth + 1));
      while (accept(","));
      if (!accept("]")) fail("']'");
    } else if (rest_.starts_with('"')) {
      out.kind = JsonValue::Kind::text;
      out.text = string();
    } else if (accept("true") || accept("false")) {
      out.kind = JsonValue::Kind::boolean;
      out.boolean = *(rest_.data() - 2) == 'u';  // tr-u-e, fal-s-e
    } else if (!accept("null")) {
      out.kind = JsonValue::Kind::number;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out.number);
      if (error != std::errc()) fail("a value");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    }
    return out;
  }

  std::string_view rest_;
  const std::string& where_;
};

}  // namespace

const JsonValue& JsonValue::at(std::string_view key, Kind expected, const std::string& where) const {
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key && items[i].kind == expected) return items[i];
  throw FormatError(where + ": has no \"" + std::string(key) + "\" of the kind that is expected");
}

uint32_t JsonValue::whole(std::string_view key, uint32_t most, const std::string& where) const {
  const double found = at(key, Kind::number, where).number;
  if (!(found >= 0 && found <= most) || found != std::floor(found))
    throw FormatError(where + ": \"" + std::string(key) + "\" is no whole number of 0 to " +
                      std::to_string(most));
  return static_cast<uint32_t>(found);
}

std::vector<uint32_t> JsonValue::wholes(std::string_view key, uint32_t most, const std::string& where) const {
  std::vector<uint32_t> out;
  for (const JsonValue& item : at(key, Kind::list, where).items) {
    if (item.kind != Kind::number || !(item.number >= 1 && item.number <= most))
      throw FormatError(where + ": \"" + std::string(key) + "\" has what is no number of 1 to " +
                        std::to_string(most));
    out.push_back(static_cast<uint32_t>(item.number));
  }
  return out;
}

JsonValue parse_json(std::string_view text, const std::string& where) {
  return JsonTree(text, where).whole();
}

}  // namespace selfnorm::runtime
