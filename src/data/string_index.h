// Strings numbered 0, 1, 2, ... in the order of their first appearance: labels, column names, vocabularies.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
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

// The names of classes, in the order of their numbers. Names that are just 0, 1, ..., K - 1 take no memory;
// others their bytes, once for all copies.
class ClassNames {
 public:
  ClassNames() = default;
  ClassNames(const std::vector<std::string>& names) {  // NOLINT: what it stands for
    for (const std::string& name : names) push_back(name);
  }
  ClassNames(std::initializer_list<std::string> names) : ClassNames(std::vector<std::string>(names)) {}
  static ClassNames numbers(uint32_t classes);

  size_t size() const { return table_ ? table_->end.size() : numbers_; }
  bool empty() const { return size() == 0; }
  bool are_numbers() const { return table_ == nullptr; }
  std::string operator[](size_t k) const;
  std::string front() const { return (*this)[0]; }
  void push_back(std::string_view name);
  void clear() { *this = ClassNames(); }
  std::vector<std::string> all() const { return first(size()); }
  std::vector<std::string> first(size_t n) const;
  bool operator==(const ClassNames& other) const;

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::string;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = std::string;

    iterator(const ClassNames& names, size_t at) : names_(&names), at_(at) {}
    std::string operator*() const { return (*names_)[at_]; }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    iterator operator++(int) { return {*names_, at_++}; }
    bool operator==(const iterator& other) const { return at_ == other.at_; }

   private:
    const ClassNames* names_;
    size_t at_;
  };
  using const_iterator = iterator;
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, size()}; }

 private:
  struct Table {
    std::string bytes;
    std::vector<uint64_t> end;
  };

  uint32_t numbers_ = 0;  // without a table
  std::shared_ptr<Table> table_;
};

// The number that the name is as it is written, without zeros before it.
std::optional<uint32_t> class_number(std::string_view name);

// What makes two labels the same class: a plus sign before a digit does not count.
std::string_view label_key(std::string_view label);

class KnownLabels {
 public:
  explicit KnownLabels(const ClassNames& labels);  // throws Error when two are the same
  std::optional<uint32_t> find(std::string_view label) const;
  std::string unseen(std::string_view label) const;  // the error message

 private:
  uint32_t numbers_ = 0;  // labels that are 0, 1, 2, ...; else the keys
  StringIndex keys_;
  std::string example_;
};

inline constexpr size_t kShownCharacters = 80;

// A label on one line of a terminal or in a table: U+FFFD for every byte of no well-formed UTF-8; '?' for C0
// and C1 controls and DEL, which command a terminal. Of more than kShownCharacters code points the first
// ones, and `cut` for the last.
std::string shown_label(std::string_view label, std::string_view cut = "\u2026");

}  // namespace selfnorm
