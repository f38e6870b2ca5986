#include "selfnorm/model/string_column.h"

#include <bit>

#include "selfnorm/base/error.h"
#include "selfnorm/runtime/label_index.h"

namespace selfnorm {

StringColumn::StringColumn(const std::vector<std::string>& strings) {
  for (const std::string& text : strings) {
    bytes += text;
    offsets.push_back(bytes.size());
  }
}

void StringColumn::add_to(std::vector<runtime::Tensor>& tensors, const std::string& name) const {
  if (offsets.size() == 1) return;
  tensors.push_back(make_tensor(name + ".bytes", runtime::Dtype::U8, {bytes.size()}, std::span(bytes)));
  tensors.push_back(
      make_tensor(name + ".offsets", runtime::Dtype::U64, {offsets.size()}, std::span(offsets)));
}

std::vector<uint32_t> index_slots(const std::vector<std::string>& strings) {
  std::vector<uint32_t> slots(std::bit_ceil(2 * strings.size()), runtime::kEmptySlot);
  for (uint32_t k = 0; k < strings.size(); ++k) {
    uint64_t i = runtime::hash_string(strings[k]) & (slots.size() - 1);
    while (slots[i] != runtime::kEmptySlot && strings[slots[i]] != strings[k])
      i = (i + 1) & (slots.size() - 1);
    if (slots[i] == runtime::kEmptySlot) slots[i] = k;
  }
  return slots;
}

std::vector<std::string> strings_of(const runtime::StringTable& table) {
  std::vector<std::string> out(table.size());
  std::string_view text;
  for (size_t i = 0; i < out.size(); ++i) {
    SELFNORM_CHECK(table.get(i, text));
    out[i] = text;
  }
  return out;
}

}  // namespace selfnorm
