#include "utf8.h"

namespace selfnorm {

size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t n = lead >= 0xC2 && lead < 0xE0   ? 2
                   : lead >= 0xE0 && lead < 0xF0 ? 3
                   : lead >= 0xF0 && lead < 0xF5 ? 4
                                                 : 0;
  if (n == 0 || n > text.size()) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
  const bool is_overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool is_outside = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  return is_overlong || is_outside ? 0 : n;
}

std::string utf8_repaired(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t n = utf8_length(text);
    out += n > 0 ? text.substr(0, n) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(n > 0 ? n : 1);
  }
  return out;
}

}  // namespace selfnorm
