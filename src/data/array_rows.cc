#include "array_rows.h"

#include <fmt/format.h>

#include "matrix.h"
#include "selfnorm/base/error.h"

namespace selfnorm {

void ArrayRows::block(uint64_t begin, uint64_t end, std::span<float> to) const {
  SELFNORM_CHECK(begin <= end && end <= rows_ && to.size() == (end - begin) * columns_);
  if (view_.fortran_order) {
    std::vector<float> column(end - begin);
    for (uint32_t c = 0; c < columns_; ++c) {
      view_.widen(c * rows_ + begin, column);
      for (uint64_t r = 0; r < column.size(); ++r) to[r * columns_ + c] = column[r];
    }
  } else {
    view_.widen(begin * columns_, to);
  }
  for (uint64_t r = begin; r < end; ++r) check_row(to.subspan((r - begin) * columns_, columns_), r);
}

void ArrayRows::gather(std::span<const uint64_t> rows, std::span<float> to) const {
  SELFNORM_CHECK(to.size() == rows.size() * columns_);
  for (size_t r = 0; r < rows.size(); ++r) {
    SELFNORM_CHECK(rows[r] < rows_);
    const auto row = to.subspan(r * columns_, columns_);
    if (view_.fortran_order) {
      for (uint32_t c = 0; c < columns_; ++c) view_.widen(c * rows_ + rows[r], row.subspan(c, 1));
    } else {
      view_.widen(rows[r] * columns_, row);
    }
    check_row(row, rows[r]);
  }
}

void ArrayRows::release(uint64_t begin, uint64_t end) const {
  if (view_.fortran_order)
    view_.release(0, rows_ * columns_);
  else
    view_.release(begin * columns_, (end - begin) * columns_);
}

void ArrayRows::check_row(std::span<const float> values, uint64_t row) const {
  const std::string message = value_error(values);
  if (!message.empty()) throw DataError(view_.place, row + 1, fmt::format("row {}: {}", row + 1, message));
}

}  // namespace selfnorm
