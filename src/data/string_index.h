// Strings numbered 0, 1, 2, ... in the order of their first appearance: labels, column names, vocabularies.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace selfnorm {

// FNV-1a over the bytes, then the 64-bit finaliser of MurmurHash3. Stable: model files rely on it.
uint64_t hash_bytes(std::string_view bytes);

// Of more words of 32 bits, from the hash of those before.
template <class Words>
uint64_t hash_words(uint64_t hash, const Words& words) {
  for (const auto word : words) {
    hash = (hash ^ std::bit_cast<uint32_t>(word)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash;
}

class StringIndex {
 public:
  StringIndex() = default;
  explicit StringIndex(const std::vector<std::string>& strings);  // numbered as listed; they must differ

  uint32_t add(std::string_view string);  // the number of the string, new or old
  std::optional<uint32_t> find(std::string_view string) const;
  // find of each, kAbsent where there is none: faster where the index is larger than the caches, whose
  // misses are waited for together.
  static constexpr uint32_t kAbsent = UINT32_MAX;
  void find_all(std::span<const std::string_view> strings, std::vector<uint32_t>& numbers) const;
  uint32_t size() const { return static_cast<uint32_t>(end_.size()); }
  std::string_view operator[](uint32_t number) const;
  std::vector<std::string> strings() const;

 private:
  // Other strings of the same slot are told apart by their hashes, nearly always without being looked at.
  struct Slot {
    uint32_t number, hash;  // low bits
  };
  static constexpr size_t kAtOnce = 64;
  using Hashes = std::array<uint32_t, kAtOnce>;
  template <class String>
  Hashes fetched(std::span<const String> strings) const;
  uint64_t slot_of(std::string_view string, uint32_t hash) const;
  uint32_t add(std::string_view string, uint32_t hash);  // there is room
  void grow();

  std::string bytes_;          // every string, one after the other
  std::vector<uint64_t> end_;  // number -> end in bytes_
  std::vector<Slot> slot_;     // open addressing with linear probing, a power of two, at most half full
};

// What makes two labels the same class: a plus sign before a digit does not count.
std::string_view label_key(std::string_view label);

class KnownLabels {
 public:
  explicit KnownLabels(std::span<const std::string> labels);  // throws Error when two are the same
  std::optional<uint32_t> find(std::string_view label) const { return keys_.find(label_key(label)); }
  std::string unseen(std::string_view label) const;  // the error message

 private:
  StringIndex keys_;
  std::string example_;
};

inline constexpr size_t kShownCharacters = 80;

// A label on one line of a terminal or in a table: U+FFFD for every byte of no well-formed UTF-8; '?' for C0
// and C1 controls and DEL, which command a terminal. Of more than kShownCharacters code points the first
// ones, and `cut` for the last.
std::string shown_label(std::string_view label, std::string_view cut = "\u2026");

}  // namespace selfnorm
