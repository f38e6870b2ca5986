#include "selfnorm/data/string_index.h"

#include "selfnorm/base/error.h"
#include "selfnorm/runtime/label_index.h"

namespace selfnorm {
namespace {

constexpr uint32_t kEmpty = 0xFFFFFFFFu;

}  // namespace

uint64_t hash_bytes(std::string_view bytes) { return runtime::hash_string(bytes); }

StringIndex::StringIndex(const std::vector<std::string>& strings) {
  for (const std::string& s : strings) add(s);
  SELFNORM_CHECK(size() == strings.size());
}

std::string_view StringIndex::operator[](uint32_t number) const {
  uint64_t begin = number == 0 ? 0 : end_[number - 1];
  return std::string_view(bytes_).substr(begin, end_[number] - begin);
}

// The slot that holds the string, or the empty one where it would go.
uint64_t StringIndex::slot_of(std::string_view string) const {
  uint64_t mask = slot_.size() - 1;
  uint64_t i = hash_bytes(string) & mask;
  while (slot_[i] != kEmpty && (*this)[slot_[i]] != string) i = (i + 1) & mask;
  return i;
}

std::optional<uint32_t> StringIndex::find(std::string_view string) const {
  if (slot_.empty()) return std::nullopt;
  uint32_t number = slot_[slot_of(string)];
  return number == kEmpty ? std::nullopt : std::optional(number);
}

uint32_t StringIndex::add(std::string_view string) {
  if (2 * end_.size() >= slot_.size()) grow();
  uint64_t i = slot_of(string);
  if (slot_[i] == kEmpty) {
    if (size() == kEmpty - 1) throw Error("more than 2^32 - 2 distinct strings");
    slot_[i] = size();
    bytes_.append(string);
    end_.push_back(bytes_.size());
  }
  return slot_[i];
}

void StringIndex::grow() {
  slot_.assign(slot_.empty() ? 16 : 2 * slot_.size(), kEmpty);
  for (uint32_t number = 0; number < size(); ++number) slot_[slot_of((*this)[number])] = number;
}

std::vector<std::string> StringIndex::strings() const {
  std::vector<std::string> list;
  list.reserve(size());
  for (uint32_t number = 0; number < size(); ++number) list.emplace_back((*this)[number]);
  return list;
}

}  // namespace selfnorm
