// A list of strings as model files store it (runtime/string_table.h), to write and to read back.
#pragma once

#include <string>
#include <vector>

#include "selfnorm/model/safetensors_writer.h"
#include "selfnorm/runtime/string_table.h"

namespace selfnorm {

struct StringColumn {
  std::string bytes;
  std::vector<uint64_t> offsets{0};

  explicit StringColumn(const std::vector<std::string>& strings);

  // <name>.bytes and <name>.offsets, pointing into this; nothing when there are no strings.
  void add_to(std::vector<runtime::Tensor>& tensors, const std::string& name) const;
};

// The slots of runtime/label_index.h, that find the first of equal strings.
std::vector<uint32_t> index_slots(const std::vector<std::string>& strings);

// Of a table whose offsets were checked.
std::vector<std::string> strings_of(const runtime::StringTable& table);

}  // namespace selfnorm
