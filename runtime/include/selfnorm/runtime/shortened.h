// Input in messages: enough of it to be recognised.
#pragma once

#include <string>
#include <string_view>

namespace selfnorm::runtime {

// Of text longer than `limit` bytes the first three quarters of as many and the last one, with "..." between,
// cut between characters of UTF-8.
inline std::string shortened(std::string_view text, size_t limit = 100) {
  if (text.size() <= limit) return std::string(text);
  const auto is_inside = [&text](size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0u) == 0x80u; };
  size_t head = limit - limit / 4, tail = text.size() - limit / 4;
  while (head > 0 && is_inside(head)) --head;
  while (tail < text.size() && is_inside(tail)) ++tail;
  return std::string(text.substr(0, head)).append("...").append(text.substr(tail));
}

}  // namespace selfnorm::runtime
