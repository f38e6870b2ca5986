// Which positions of a list name which row: what a lazy update of rows goes by. Rows come in the order of
// their first position and positions in rising order, so sums over them have the same bits always. The cost
// is that of the list; memory is one number per row that can be named.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

class Occurrences {
 public:
  // Rows are below `rows`.
  explicit Occurrences(size_t rows);

  // Replaces what was there.
  void group(std::span<const uint32_t> list);

  size_t size() const { return row_.size(); }  // distinct rows
  uint32_t row(size_t slot) const { return row_[slot]; }
  std::span<const uint32_t> positions(size_t slot) const;
  // The positions of a row, perhaps none.
  std::span<const uint32_t> positions_of(uint32_t row) const;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFFu;

  std::vector<uint32_t> slot_;  // of a row, or kNone
  std::vector<uint32_t> row_;
  std::vector<uint32_t> end_;  // of a slot's positions
  std::vector<uint32_t> position_;
};

}  // namespace selfnorm
