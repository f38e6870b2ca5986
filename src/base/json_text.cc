#include "base/json_text.h"

namespace selfnorm {

bool is_shallow_json(std::string_view text) {
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

}  // namespace selfnorm
