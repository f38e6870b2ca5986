// A table that is read twice.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/input/source.h"

namespace selfnorm {

// The bytes of a table, which may be read twice: mapped where they are a file, otherwise in memory.
class HeldTable {
 public:
  explicit HeldTable(Input& input) : name_(input.name()) {
    if (const auto storage = input.storage(); storage && input.bytes_read() == 0) {
      storage_ = storage;
      const auto bytes = storage->bytes();
      text_ = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    } else {
      rest_ = input.read_rest();
      text_ = rest_;
    }
  }
  std::string_view text() const { return text_; }
  std::unique_ptr<Input> open() const {
    auto input = Input::memory(name_, text_);
    input->skip_byte_order_mark();
    return input;
  }

 private:
  std::string name_, rest_;
  std::shared_ptr<Storage> storage_;
  std::string_view text_;
};

}  // namespace selfnorm
