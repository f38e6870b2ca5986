// The columns of a frame as a network sees them, learned from the training rows alone.
//     numeric       (x - mean) / sd, held within +- kLargestInput; missing: 0, and where the training rows
//                   have missing values an input of its own, right after it, says so (1 missing, 0 not). A
//                   column of one value beside missing ones has that input alone.
//     categorical   a level 1, 2, ... of those of the training rows, the most frequent first, "missing" being
//                   one, the last, where they have it; 0: a level that the training rows do not have, or one
//                   beyond the kMostLevels most frequent
// Left out, each with a note: columns without a value in the training rows, constant ones, and categorical
// ones whose values (kLeastOwnLevels or more) are all different, which tell nothing about other rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/points/points.h"
#include "data/table/frame.h"

namespace selfnorm {

inline constexpr float kLargestInput = 10;
inline constexpr uint32_t kMostLevels = 10000;
inline constexpr uint64_t kLeastOwnLevels = 100;

// Rows as networks take them.
struct InputRows {
  Points number;                    // rows x numeric inputs
  const uint32_t* level = nullptr;  // rows x categorical inputs, row-major; null: none
  uint32_t categorical = 0;

  uint64_t rows() const { return number.rows; }
  InputRows slice(uint64_t begin, uint64_t end) const {
    return {number.slice(begin, end), level == nullptr ? nullptr : level + begin * categorical, categorical};
  }
};

struct EncodedFrame {
  uint64_t rows = 0;
  uint32_t numeric = 0, categorical = 0;
  std::vector<float> number;
  std::vector<uint32_t> level;

  InputRows view() const {
    return {{number.data(), rows, numeric}, categorical == 0 ? nullptr : level.data(), categorical};
  }
  EncodedFrame take(std::span<const uint64_t> chosen) const;
};

// What happened to a frame, for the user.
struct EncodingReport {
  struct Count {
    std::string column;
    uint64_t missing = 0;  // values that were not there
    uint64_t unseen = 0;   // categorical: levels that training did not have
    uint64_t clipped = 0;  // numeric: beyond kLargestInput standard deviations, or the range of float
  };
  std::vector<Count> columns;  // those with something to say
};

// One column of a frame.
struct InputColumn {
  std::string name;
  bool is_numeric = true;
  double mean = 0, scale = 1;
  bool has_value = true;  // numeric: false, the input that says whether it is missing is all
  bool has_missing = false;
  std::vector<std::string> levels{};  // without "missing"
};

class FrameEncoder {
 public:
  FrameEncoder() = default;
  // All columns of the frame but `targets`; training_rows: one or more. `standardise` false: numeric columns
  // as they are (for modules that expect raw numbers), still held to finite floats, and constant columns
  // stay. Notes: what was left out and why.
  FrameEncoder(const Frame& frame, std::span<const uint64_t> training_rows,
               const std::vector<std::string>& targets, bool standardise, std::vector<std::string>& notes);
  static FrameEncoder from_json(const std::string& text);  // throws Error
  std::string json() const;

  uint32_t numeric_inputs() const;
  std::vector<uint32_t> levels() const;      // of every categorical input, level 0 included
  std::vector<std::string> columns() const;  // names of the frame's columns it needs, in order
  FrameOptions reading() const;              // how a frame has to be read for encode

  // Columns are found by name. Throws DataError when one is not there or has another kind.
  EncodedFrame encode(const Frame& frame, EncodingReport& report) const;

 private:
  bool standardise_ = true;
  std::vector<InputColumn> used_;
};

}  // namespace selfnorm
