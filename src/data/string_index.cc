#include "data/string_index.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/failure.h"
#include "data/input/characters.h"
#include "selfnorm/runtime/string_table.h"

namespace selfnorm {
namespace {

constexpr uint32_t kEmpty = StringIndex::kAbsent;

// Of one well-formed character: U+0000..U+001F, U+007F, U+0080..U+009F (C2 80..C2 9F).
bool is_control(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return character.size() == 2 && byte(0) == 0xC2 && byte(1) < 0xA0;
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) { return runtime::hash_string(bytes); }

StringIndex::StringIndex(const std::vector<std::string>& strings) {
  size_t bytes = 0;
  for (const std::string& s : strings) bytes += s.size();
  bytes_.reserve(bytes);
  end_.reserve(strings.size());
  slot_.assign(std::bit_ceil(std::max<size_t>(16, 2 * strings.size() + 1)), Slot{kEmpty, 0});
  for (size_t first = 0; first < strings.size(); first += kAtOnce) {
    const std::span part = std::span(strings).subspan(first, std::min(kAtOnce, strings.size() - first));
    const Hashes hash = fetched(part);
    for (size_t i = 0; i < part.size(); ++i) add(part[i], hash[i]);
  }
  SELFNORM_CHECK(size() == strings.size());
}

// Hashes of at most kAtOnce strings, whose slots are on their way to the caches.
template <class String>
StringIndex::Hashes StringIndex::fetched(std::span<const String> strings) const {
  Hashes hash;
  for (size_t i = 0; i < strings.size(); ++i) {
    hash[i] = static_cast<uint32_t>(hash_bytes(strings[i]));
    __builtin_prefetch(&slot_[hash[i] & (slot_.size() - 1)]);
  }
  return hash;
}

std::string_view StringIndex::operator[](uint32_t number) const {
  uint64_t begin = number == 0 ? 0 : end_[number - 1];
  return std::string_view(bytes_).substr(begin, end_[number] - begin);
}

// The slot that holds the string, or the empty one where it would go.
uint64_t StringIndex::slot_of(std::string_view string, uint32_t hash) const {
  const uint64_t mask = slot_.size() - 1;
  uint64_t i = hash & mask;
  while (slot_[i].number != kEmpty && (slot_[i].hash != hash || (*this)[slot_[i].number] != string))
    i = (i + 1) & mask;
  return i;
}

std::optional<uint32_t> StringIndex::find(std::string_view string) const {
  if (slot_.empty()) return std::nullopt;
  const uint32_t number = slot_[slot_of(string, static_cast<uint32_t>(hash_bytes(string)))].number;
  return number == kEmpty ? std::nullopt : std::optional(number);
}

void StringIndex::find_all(std::span<const std::string_view> strings, std::vector<uint32_t>& numbers) const {
  numbers.assign(strings.size(), kAbsent);
  if (slot_.empty()) return;
  const uint64_t mask = slot_.size() - 1;
  for (size_t first = 0; first < strings.size(); first += kAtOnce) {
    const size_t count = std::min(kAtOnce, strings.size() - first);
    const Hashes hash = fetched(strings.subspan(first, count));
    for (size_t i = 0; i < count; ++i) {
      const uint32_t likely = slot_[hash[i] & mask].number;
      if (likely != kEmpty) __builtin_prefetch(&end_[likely]);
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t likely = slot_[hash[i] & mask].number;
      if (likely != kEmpty) __builtin_prefetch(bytes_.data() + end_[likely] - 1);
    }
    for (size_t i = 0; i < count; ++i)
      numbers[first + i] = slot_[slot_of(strings[first + i], hash[i])].number;
  }
}

uint32_t StringIndex::add(std::string_view string) {
  if (2 * end_.size() >= slot_.size()) grow();
  return add(string, static_cast<uint32_t>(hash_bytes(string)));
}

uint32_t StringIndex::add(std::string_view string, uint32_t hash) {
  Slot& slot = slot_[slot_of(string, hash)];
  if (slot.number == kEmpty) {
    if (size() == kEmpty - 1) throw Error("more than 2^32 - 2 distinct strings");
    slot = {size(), hash};
    bytes_.append(string);
    end_.push_back(bytes_.size());
  }
  return slot.number;
}

void StringIndex::grow() {
  std::vector<Slot> old(slot_.empty() ? 16 : 2 * slot_.size(), Slot{kEmpty, 0});
  old.swap(slot_);
  const uint64_t mask = slot_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.number == kEmpty) continue;
    uint64_t i = slot.hash & mask;
    while (slot_[i].number != kEmpty) i = (i + 1) & mask;
    slot_[i] = slot;
  }
}

std::vector<std::string> StringIndex::strings() const {
  std::vector<std::string> list;
  list.reserve(size());
  for (uint32_t number = 0; number < size(); ++number) list.emplace_back((*this)[number]);
  return list;
}

ClassNames ClassNames::numbers(uint32_t classes) {
  ClassNames out;
  out.numbers_ = classes;
  return out;
}

std::string ClassNames::operator[](size_t k) const {
  if (!table_) return std::to_string(k);
  const uint64_t begin = k == 0 ? 0 : table_->end[k - 1];
  return table_->bytes.substr(begin, table_->end[k] - begin);
}

void ClassNames::push_back(std::string_view name) {
  if (!table_) {
    if (class_number(name) == numbers_) {
      ++numbers_;
      return;
    }
    auto table = std::make_shared<Table>();
    for (uint32_t k = 0; k < numbers_; ++k) {
      table->bytes += std::to_string(k);
      table->end.push_back(table->bytes.size());
    }
    table_ = std::move(table);
  }
  if (table_.use_count() > 1) table_ = std::make_shared<Table>(*table_);
  table_->bytes += name;
  table_->end.push_back(table_->bytes.size());
}

std::vector<std::string> ClassNames::first(size_t n) const {
  std::vector<std::string> out;
  out.reserve(n);
  for (size_t k = 0; k < n; ++k) out.push_back((*this)[k]);
  return out;
}

bool ClassNames::operator==(const ClassNames& other) const {
  if (!table_ || !other.table_) return !table_ && !other.table_ && numbers_ == other.numbers_;
  return table_ == other.table_ || (table_->bytes == other.table_->bytes && table_->end == other.table_->end);
}

std::optional<uint32_t> class_number(std::string_view name) {
  uint32_t value = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, value);
  const bool is_plain = error == std::errc() && stop == end && (name.size() == 1 || name[0] != '0');
  return is_plain ? std::optional(value) : std::nullopt;
}

std::string_view label_key(std::string_view label) {
  bool plus = label.size() > 1 && label[0] == '+' && label[1] >= '0' && label[1] <= '9';
  return plus ? label.substr(1) : label;
}

KnownLabels::KnownLabels(const ClassNames& labels) {
  if (!labels.empty()) example_ = labels[0];
  if (labels.are_numbers()) {
    numbers_ = static_cast<uint32_t>(labels.size());
    return;
  }
  for (uint32_t k = 0; k < labels.size(); ++k)
    if (keys_.add(label_key(labels[k])) != k)
      throw_error("the model names the label {} twice", quoted_text(labels[k]));
}

std::optional<uint32_t> KnownLabels::find(std::string_view label) const {
  if (keys_.size() > 0) return keys_.find(label_key(label));
  const std::optional<uint32_t> k = class_number(label_key(label));
  return k && *k < numbers_ ? k : std::nullopt;
}

std::string KnownLabels::unseen(std::string_view label) const {
  return fmt::format(
      "found label {}, which was not seen in training; expected one of the model's {} labels, such as {}",
      quoted_text(label), std::max(numbers_, keys_.size()), quoted_text(example_));
}

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
