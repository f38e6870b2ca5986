#include "quote.h"

#include <fmt/format.h>

#include "utf8.h"

namespace selfnorm {

std::string quoted_text(std::string_view text) {
  constexpr size_t kLimit = 40;
  std::string out = "'";
  size_t i = 0;
  while (i < text.size() && i < kLimit) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    size_t n = utf8_length(text.substr(i));
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
