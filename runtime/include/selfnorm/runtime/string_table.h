// Lists of strings of a model file, read in place, and where a string is in one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace selfnorm::runtime {

inline constexpr uint32_t kEmptySlot = 0xFFFFFFFFu;

// String i is bytes[offsets[i] .. offsets[i+1]).
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

// FNV-1a over the bytes, then the 64-bit finaliser of MurmurHash3. Stable: files rely on it.
inline uint64_t hash_string(std::string_view bytes) {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 33);
}

// Open addressing with linear probing in a power of two of slots, at least two for every label. A slot holds
// a class, the first with its label, or kEmptySlot.
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

// The first string that is `wanted`, by the index where there is one; kEmptySlot: there is none.
uint32_t find_string(const StringTable& strings, const LabelIndex& index, std::string_view wanted);

// Scans; throw FormatError, whose message begins with `where`.
// Offsets that rise from 0 to the end of the bytes.
void check_strings(const StringTable& strings, const std::string& where);
// Slots that hold numbers of strings, and find every string, or an equal one before it.
void check_index(const LabelIndex& index, const StringTable& strings, const std::string& where);

}  // namespace selfnorm::runtime
