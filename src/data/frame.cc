#include "selfnorm/data/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "frame_arrays.h"
#include "frame_table.h"
#include "read_input.h"
#include "selfnorm/base/atomic_file.h"
#include "selfnorm/base/error.h"
#include "selfnorm/data/write.h"
#include "sniff.h"
#include "table_sample.h"

namespace selfnorm {
namespace {

// What is no file, a pipe, is held in memory.
class FrameFile final : public Reopening {
 public:
  explicit FrameFile(const std::string& path) : path_(path) {
    std::error_code ignored;
    is_file_ = path != "-" && std::filesystem::is_regular_file(path, ignored);
    if (is_file_) return;
    const auto input = Input::open(path);
    name_ = input->name();
    bytes_ = input->read_rest();
  }

  std::unique_ptr<Input> open() const override {
    auto input = is_file_ ? Input::open(path_) : Input::memory(name_, bytes_);
    skip_byte_order_mark(*input);
    return input;
  }

 private:
  std::string path_, name_, bytes_;
  bool is_file_ = false;
};

void append_value(const FrameColumn& column, uint64_t row, std::string& line) {
  if (!column.is_numeric && column.level[row] != kMissingLevel)
    line += csv_field(column.levels[column.level[row]]);
  if (column.is_numeric && !std::isnan(column.number[row]))
    fmt::format_to(std::back_inserter(line), "{}", column.number[row]);
}

}  // namespace

const FrameColumn* Frame::find(const std::string& name) const {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const FrameColumn& c) { return c.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

Frame read_frame(const std::string& path, const FrameOptions& options) {
  const FrameFile file(path);
  const auto input = file.open();
  if (is_array_head(input->peek(kArrayHead))) {
    auto storage = input->storage();
    const std::string name = input->name();
    return read_array_frame(ArrayFile(name, storage ? storage : owned_storage(input->read_rest())), options);
  }
  const Format format = detect_format(*input, {});
  if (format != Format::csv && format != Format::tsv && format != Format::text)
    throw DataError(input->name(), 0,
                    fmt::format("found {} data, expected csv, tsv, npz or safetensors", format_name(format)));
  return read_table_frame(file, table_separator(*input, format), options);
}

void write_frame(const Frame& frame, const std::string& path) {
  if (!path.ends_with(".csv"))
    throw Error(fmt::format("cannot write a table to {}: expected a name that ends with .csv", path));
  AtomicFile file(path);
  std::string line;
  for (const FrameColumn& column : frame.columns) line += (line.empty() ? "" : ",") + csv_field(column.name);
  file.write(line + "\n");
  for (uint64_t row = 0; row < frame.rows; ++row) {
    line.clear();
    for (size_t c = 0; c < frame.columns.size(); ++c) {
      if (c > 0) line += ',';
      append_value(frame.columns[c], row, line);
    }
    file.write(line.empty() ? "\"\"\n" : line + "\n");
  }
  file.commit();
}

}  // namespace selfnorm
