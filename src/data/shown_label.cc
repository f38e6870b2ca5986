#include "selfnorm/data/shown_label.h"

#include "utf8.h"

namespace selfnorm {
namespace {

// Of one well-formed character: U+0000..U+001F, U+007F, U+0080..U+009F (C2 80..C2 9F).
bool is_control(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return character.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0;
}

}  // namespace

std::string shown_label(std::string_view label, std::string_view cut) {
  std::string out;
  size_t shown = 0, kept = 0;  // characters; bytes of all but the last that fits
  while (!label.empty()) {
    if (shown == kShownCharacters) return out.substr(0, kept).append(cut);
    if (++shown == kShownCharacters) kept = out.size();
    const size_t n = utf8_length(label);
    if (n == 0)
      out += "\xEF\xBF\xBD";
    else if (is_control(label.substr(0, n)))
      out += '?';
    else
      out += label.substr(0, n);
    label.remove_prefix(n > 0 ? n : 1);
  }
  return out;
}

}  // namespace selfnorm
