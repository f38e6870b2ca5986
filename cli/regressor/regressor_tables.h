// The rows that `train regressor` reads: those to train on, to check on and to test on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/table/frame.h"
#include "grammar/arguments.h"

namespace selfnorm::cli {

struct TrainingTables {
  Frame frame;  // of DATA, then of --valid
  std::vector<std::string> targets;
  std::vector<uint64_t> train, valid;  // rows of `frame`
  std::optional<Frame> test;           // every row has all targets
  std::vector<std::string> notes;      // what was read, for people
  Json record, valid_record, test_record;
};

// Throws Error for columns, targets and rows that cannot be used.
TrainingTables read_tables(const Arguments& arguments);

// Some rows of a frame.
Frame taken_rows(const Frame& frame, std::span<const uint64_t> rows);
// "a, b, c", cut where there are many.
std::string short_list(const std::vector<std::string>& names);

}  // namespace selfnorm::cli
