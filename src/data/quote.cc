#include "quote.h"

#include <fmt/format.h>

namespace selfnorm {
namespace {

// Length of the well-formed UTF-8 sequence at the start of text (RFC 3629, by lead byte), or 0.
size_t utf8_length(std::string_view text) {
  unsigned lead = static_cast<unsigned char>(text[0]);
  size_t n = lead >= 0xC2 && lead < 0xE0   ? 2
             : lead >= 0xE0 && lead < 0xF0 ? 3
             : lead >= 0xF0 && lead < 0xF5 ? 4
                                           : 0;
  if (n > text.size()) return 0;
  for (size_t i = 1; i < n; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0u) != 0x80u) return 0;
  return n;
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr size_t kLimit = 40;
  std::string out = "'";
  size_t i = 0;
  while (i < text.size() && i < kLimit) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    size_t n = c < 0x80 ? 1 : utf8_length(text.substr(i));
    if (n == 0 || c < 0x20 || c == 0x7F) {
      out += c == '\t' ? "\\t" : c == '\n' ? "\\n" : c == '\r' ? "\\r" : fmt::format("\\x{:02x}", c);
      n = 1;
    } else {
      out += text.substr(i, n);
    }
    i += n;
  }
  return out + (i < text.size() ? "'..." : "'");
}

}  // namespace selfnorm
