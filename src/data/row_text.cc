#include "data/row_text.h"

#include <algorithm>
#include <set>

#include "data/input/records.h"
#include "data/input/sniff.h"
#include "data/table/json_lines.h"
#include "data/table/table_sample.h"
#include "selfnorm/runtime/shortened.h"

namespace selfnorm {
namespace {

constexpr size_t kLongestRow = 200, kRowBlock = size_t{1} << 20;

// What is passed over before row 0, and where rows end; nothing: the file has no rows of text.
struct RowLayout {
  RecordRule rule;
  uint64_t header_bytes = 0;
};

std::optional<RowLayout> row_layout(Input& input, const ReadOptions& options) {
  if (options.format == Format::automatic && is_json_lines(input)) return RowLayout{};
  const Format format = options.format == Format::automatic ? detect_format(input, options) : options.format;
  switch (format) {
    case Format::svmlight:
      return RowLayout{};
    case Format::text:
      return RowLayout{.rule = {}, .header_bytes = text_header(input, options.header)};
    case Format::csv:
    case Format::tsv: {
      const RecordRule rule{table_separator(input, format)};
      const TableSample sample = table_sample(input, rule);
      const bool has_header = TableColumns(input.name(), sample, options.header).has_header();
      return RowLayout{rule, has_header ? sample.first_bytes : 0};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string shown_row(std::string_view text) {
  std::string line = runtime::shortened(std::string(text), kLongestRow);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return line;
}

std::map<uint64_t, std::string> row_texts(const std::string& path, const ReadOptions& options,
                                          std::span<const uint64_t> numbers) {
  std::map<uint64_t, std::string> out;
  const std::set<uint64_t> wanted(numbers.begin(), numbers.end());
  if (wanted.empty() || path == "-") return out;
  const std::unique_ptr<Input> input = open_rows(path, options);
  input->skip_byte_order_mark();
  const std::optional<RowLayout> layout = row_layout(*input, options);
  if (!layout) return out;
  input->skip(layout->header_bytes);
  BlockReader reader(*input, layout->rule, kRowBlock);
  uint64_t number = 0, lines = 0;
  for (Block block; number <= *wanted.rbegin() && reader.next(block);) {
    if (block.failure) return out;
    for (std::string_view rest(block.bytes.get(), block.size); !rest.empty(); ++number) {
      const std::string_view record = take_record(rest, layout->rule, lines);
      if (wanted.contains(number)) out.emplace(number, shown_row(record));
    }
  }
  return out;
}

}  // namespace selfnorm
