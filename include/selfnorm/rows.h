// Data where they are in memory: rows of numbers, sparse rows, texts. Nothing is copied but what is being
// worked on, so what they point to has to outlive the call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace selfnorm {

enum class NumberType { float32, float64 };

class Rows {
 public:
  // Any strides, in bytes, negative ones and 0 too.
  struct Layout {
    const void* data = nullptr;
    NumberType type = NumberType::float32;
    uint64_t rows = 0;
    uint32_t columns = 0;
    ptrdiff_t row_step = 0, column_step = 0;
  };

  Rows() = default;
  // Row-major and tight.
  Rows(std::span<const float> values, uint32_t columns);
  explicit Rows(const Layout& layout) : layout_(layout), values_(layout.rows * layout.columns) {}

  uint64_t rows() const { return layout_.rows; }
  uint32_t columns() const { return layout_.columns; }
  uint64_t values() const { return values_; }  // more than rows x columns: the last row is not whole
  double at(uint64_t row, uint32_t column) const;
  // Row-major. Throws Error naming row and column of a number that is not finite as a float.
  void read(uint64_t row, std::span<float> out) const;

 private:
  Layout layout_;
  uint64_t values_ = 0;
};

// Compressed sparse rows, as SciPy's: row i has column[begin[i] .. begin[i+1]), strictly increasing.
struct SparseRows {
  std::span<const int64_t> begin;  // rows + 1
  std::span<const int32_t> column;
  std::span<const float> value;
  uint32_t columns = 0;
  std::span<const double> value64 = {};  // in the place of `value`

  uint64_t rows() const { return begin.empty() ? 0 : begin.size() - 1; }
  uint64_t entries() const { return std::min(column.size(), std::max(value.size(), value64.size())); }
  float at(size_t entry) const { return value64.empty() ? value[entry] : static_cast<float>(value64[entry]); }
};

using Texts = std::span<const std::string_view>;

// What a classifier takes.
class Inputs {
 public:
  Inputs(const Rows& rows) : data_(rows) {}
  Inputs(const SparseRows& rows) : data_(rows) {}
  Inputs(Texts texts) : data_(texts) {}
  Inputs(std::span<const float> values, uint32_t columns) : data_(Rows(values, columns)) {}

  uint64_t rows() const;
  const Rows* dense() const { return std::get_if<Rows>(&data_); }
  const SparseRows* sparse() const { return std::get_if<SparseRows>(&data_); }
  const Texts* texts() const { return std::get_if<Texts>(&data_); }

 private:
  std::variant<Rows, SparseRows, Texts> data_;
};

}  // namespace selfnorm
