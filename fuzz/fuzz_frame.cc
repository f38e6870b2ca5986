// Any bytes as a frame: refused with an Error, or columns of the kinds asked for; its encoder gives finite
// inputs and known levels, and comes back from its JSON. The first byte chooses among the options, or makes
// the rest such JSON.
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "data/table/frame.h"
#include "data/table/frame_encoder.h"
#include "memory_file.h"
#include "selfnorm/error.h"

namespace {

using namespace selfnorm;

void check_columns(const Frame& frame, const FrameOptions& options) {
  SELFNORM_CHECK(frame.rows > 0 && !frame.columns.empty() && frame.line.size() == frame.rows);
  for (const FrameColumn& column : frame.columns) {
    SELFNORM_CHECK(frame.find(column.name) == &column);
    SELFNORM_CHECK(column.number.size() == (column.is_numeric ? frame.rows : 0));
    SELFNORM_CHECK(column.level.size() == (column.is_numeric ? 0 : frame.rows));
    for (const double value : column.number) SELFNORM_CHECK(!std::isinf(value));
    for (const uint32_t level : column.level)
      SELFNORM_CHECK(level == kMissingLevel || level < column.levels.size());
  }
  for (const std::string& name : options.numeric)
    if (const FrameColumn* column = frame.find(name)) SELFNORM_CHECK(column->is_numeric);
}

void check_encoder(const Frame& frame, bool standardise) {
  std::vector<uint64_t> rows((frame.rows + 1) / 2);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  std::vector<std::string> notes;
  const FrameEncoder encoder(frame, rows, {"y"}, standardise, notes);
  EncodingReport report;
  const EncodedFrame out = encoder.encode(frame, report);
  for (const float input : out.number) SELFNORM_CHECK(std::isfinite(input));
  const std::vector<uint32_t> levels = encoder.levels();
  for (size_t i = 0; i < out.level.size(); ++i) SELFNORM_CHECK(out.level[i] < levels[i % levels.size()]);
  const FrameEncoder back = FrameEncoder::from_json(encoder.json());
  SELFNORM_CHECK(back.encode(frame, report).number == out.number);
  SELFNORM_CHECK(back.encode(frame, report).level == out.level);
  if (frame.find("y") != nullptr)
    for (const double y : numeric_targets(frame, {"y"}, rows_with_targets(frame, {"y"})))
      SELFNORM_CHECK(std::isfinite(y));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  FrameOptions options;
  if ((data[0] & 1u) != 0) options.categorical = {"a"};
  if ((data[0] & 2u) != 0) options.numeric = {"b"};
  if ((data[0] & 4u) != 0) options.ignored = {"0"};
  if ((data[0] & 8u) != 0) options.header = "yes";
  try {
    if ((data[0] & 16u) != 0) {
      const FrameEncoder encoder =
          FrameEncoder::from_json({reinterpret_cast<const char*>(data + 1), size - 1});
      SELFNORM_CHECK(FrameEncoder::from_json(encoder.json()).json() == encoder.json());
      return 0;
    }
    const MemoryFile file(data + 1, size - 1);
    const Frame frame = read_frame(file.path(), options);
    check_columns(frame, options);
    check_encoder(frame, (data[0] & 32u) != 0);
  } catch (const Error&) {
  }
  return 0;
}
