#include "selfnorm/runtime/string_table.h"

#include <algorithm>

#include "selfnorm/runtime/file_error.h"

namespace selfnorm::runtime {

uint32_t find_string(const StringTable& strings, const LabelIndex& index, std::string_view wanted) {
  if (!index.slots.empty()) return index.find(strings, wanted);
  std::string_view found;
  for (uint32_t i = 0; i < strings.size(); ++i)
    if (strings.get(i, found) && found == wanted) return i;
  return kEmptySlot;
}

void check_strings(const StringTable& strings, const std::string& where) {
  if (strings.offsets.empty()) return;
  const bool sorted = std::is_sorted(strings.offsets.begin(), strings.offsets.end());
  if (!sorted || strings.offsets.front() != 0 || strings.offsets.back() != strings.bytes.size()) {
    throw FormatError(where + ".offsets: expected to rise from 0 to " + std::to_string(strings.bytes.size()));
  }
}

void check_index(const LabelIndex& index, const StringTable& strings, const std::string& where) {
  if (index.slots.empty()) return;
  for (const uint32_t slot : index.slots) {
    if (slot == kEmptySlot || slot < strings.size()) continue;
    throw FormatError(where + ": found string " + std::to_string(slot) + " of " +
                      std::to_string(strings.size()));
  }
  std::string_view text;
  for (uint32_t i = 0; i < strings.size(); ++i) {
    if (strings.get(i, text) && index.find(strings, text) <= i) continue;
    throw FormatError(where + ": does not find string " + std::to_string(i));
  }
}

}  // namespace selfnorm::runtime
