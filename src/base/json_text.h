// JSON that may have been edited, damaged or made to do harm: printing, copying and comparing values recurse,
// so their nesting is bounded before they exist.
#pragma once

#include <string>
#include <string_view>

namespace selfnorm {

inline constexpr int kDeepestJson = 64;
// Whether its brackets nest no deeper; of text that is no JSON, anything.
bool is_shallow_json(std::string_view text);

// `Json` is a nlohmann::basic_json; discarded when the text is no JSON or nests deeper.
template <class Json>
Json bounded_json(std::string_view text) {
  return is_shallow_json(text) ? Json::parse(text, nullptr, false) : Json(Json::value_t::discarded);
}

}  // namespace selfnorm
