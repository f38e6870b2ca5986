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
  nlohmann::ordered_json record, valid_record, test_record;
};

// Throws Error for columns, targets and rows that cannot be used.
TrainingTables read_tables(const Arguments& arguments);

// The columns `given` means, names or zero-based indices; none: y or target. Throws Error that lists the
// columns.
std::vector<std::string> target_names(const Frame& frame, const std::vector<std::string>& given);
// The rows of `first`, then those of `second`, which has its columns and kinds; what `second` has besides is
// left out. A column without any value in `first` has none in the result.
Frame joined_frames(Frame first, const Frame& second);
// Some rows of a frame.
Frame taken_rows(const Frame& frame, std::span<const uint64_t> rows);
// How another file has to be read to be joined to `frame`.
FrameOptions reading_like(const Frame& frame, const std::string& header);

// "a, b, c", cut where there are many.
std::string short_list(const std::vector<std::string>& names);

// {"path", "rows", "columns", "hash"} of config.json.
nlohmann::ordered_json frame_record(const std::string& path, const Frame& frame);

}  // namespace selfnorm::cli
