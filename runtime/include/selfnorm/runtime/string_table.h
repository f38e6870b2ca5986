// A list of strings of a model file, read in place: string i is bytes[offsets[i] .. offsets[i+1]).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace selfnorm::runtime {

struct StringTable {
  std::span<const uint8_t> bytes;
  std::span<const uint64_t> offsets;

  uint64_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }

  // False when i or its offsets are out of range: offsets are not scanned at open, so each access checks its
  // own.
  bool get(uint64_t i, std::string_view& out) const {
    if (i >= size()) return false;
    const uint64_t begin = offsets[i], end = offsets[i + 1];
    if (begin > end || end > bytes.size()) return false;
    out = {reinterpret_cast<const char*>(bytes.data()) + begin, end - begin};
    return true;
  }
};

}  // namespace selfnorm::runtime
