// Where a label is, read in place from a model file: open addressing with linear probing in a power of two of
// slots, at least two for every label. A slot holds a class, the first with its label, or kEmptySlot.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "selfnorm/runtime/string_table.h"

namespace selfnorm::runtime {

inline constexpr uint32_t kEmptySlot = 0xFFFFFFFFu;

// FNV-1a over the bytes, then the 64-bit finaliser of MurmurHash3. Stable: files rely on it.
inline uint64_t hash_string(std::string_view bytes) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 33);
}

struct LabelIndex {
  std::span<const uint32_t> slots;  // empty: there is no index

  // The class of the label, or kEmptySlot. Looks at no slot twice and checks what it reads, so a damaged
  // index finds nothing.
  uint32_t find(const StringTable& labels, std::string_view wanted) const {
    const uint64_t mask = slots.size() - 1;
    uint64_t i = hash_string(wanted) & mask;
    for (uint64_t probes = 0; probes < slots.size(); ++probes, i = (i + 1) & mask) {
      std::string_view label;
      if (slots[i] == kEmptySlot || !labels.get(slots[i], label)) return kEmptySlot;
      if (label == wanted) return slots[i];
    }
    return kEmptySlot;
  }
};

}  // namespace selfnorm::runtime
