// JSON that may have been edited, damaged or made to do harm: printing, copying and comparing values recurse,
// so their nesting is bounded before they exist.
#pragma once

#include <cstddef>
#include <string_view>

namespace selfnorm {

inline constexpr int kDeepestJson = 64;
// Whether its brackets nest no deeper; of text that is no JSON, anything.
inline bool is_shallow_json(std::string_view text) {
  int depth = 0;
  bool is_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_string && c == '\\') ++i;
    if (c == '"') is_string = !is_string;
    if (is_string) continue;
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > kDeepestJson) return false;
  }
  return true;
}

// `Json` is a nlohmann::basic_json; discarded when the text is no JSON or nests deeper.
template <class Json>
Json bounded_json(std::string_view text) {
  return is_shallow_json(text) ? Json::parse(text, nullptr, false) : Json(Json::value_t::discarded);
}

}  // namespace selfnorm
