#include "data/input/sniff.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/option_table.h"
#include "data/array/array_file.h"
#include "data/input/characters.h"
#include "data/input/records.h"
#include "data/table/table_rows.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/safetensors.h"

namespace selfnorm {
namespace {

constexpr size_t kHead = size_t{1} << 16;
constexpr size_t kLines = 100;

// Whole lines at the start of the file that have something in them; comments of svmlight files do not count.
std::vector<std::string_view> first_lines(Input& input) {
  std::string_view head = input.peek(kHead);
  if (head.size() == kHead) head = head.substr(0, std::max<size_t>(whole_records(head, {}), 1));
  std::vector<std::string_view> lines;
  uint64_t count = 0;
  while (!head.empty() && lines.size() < kLines) {
    std::string_view line = take_record(head, {}, count);
    if (line.find_first_not_of(" \t") != std::string_view::npos && !line.starts_with('#'))
      lines.push_back(line);
  }
  return lines;
}

// label<TAB>text: most lines have one tab and no number after it. A number and a word are a table's row.
bool looks_like_text(const std::vector<std::string_view>& lines) {
  auto two_fields = [](std::string_view line) {
    size_t tab = line.find('\t');
    if (tab == std::string_view::npos || line.find('\t', tab + 1) != std::string_view::npos) return false;
    std::string_view rest = line.substr(tab + 1);
    const auto is_numeric = [](std::string_view field) {
      return is_number(field) || has_decimal_comma(field);
    };
    const bool is_row = is_numeric(line.substr(0, tab)) && rest.find(' ') == std::string_view::npos;
    return !is_numeric(rest) && !is_row;
  };
  auto matching = static_cast<size_t>(std::count_if(lines.begin(), lines.end(), two_fields));
  return 2 * matching > lines.size();
}

// The second token, or a lone first one, is index:... or qid:...
bool looks_like_svmlight(std::string_view line) {
  size_t blank = line.find_first_of(" \t");
  std::string_view rest = blank == std::string_view::npos ? line : line.substr(blank);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  size_t colon = rest.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  return rest.substr(0, colon) == "qid" || rest.find_first_not_of("0123456789") == colon;
}

bool is_idx(std::string_view head) {
  return head.size() >= 4 && head[0] == 0 && head[1] == 0 && head[2] >= 0x08 && head[2] <= 0x0E &&
         head[3] > 0;
}

}  // namespace

bool is_npy_head(std::string_view head) { return head.starts_with("\x93NUMPY"); }

bool is_zip_head(std::string_view head) { return head.starts_with("PK\3\4") || head.starts_with("PK\5\6"); }

bool is_pickle_head(std::string_view head) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

bool is_safetensors_head(std::string_view head) {
  uint64_t length = 0;
  if (head.size() < 9 || head[8] != '{') return false;
  std::memcpy(&length, head.data(), 8);
  return length >= 2 && length <= runtime::kLargestHeader;
}

Format detect_format(Input& input, const ReadOptions& options) {
  std::string_view head = input.peek(kArrayHead);
  if (head.empty()) throw DataError(input.name(), 0, kEmptyFile);
  if (is_npy_head(head)) return Format::npy;
  if (is_zip_head(head)) return Format::npz;
  if (is_safetensors_head(head)) return Format::safetensors;
  if (is_idx(head)) return Format::idx;
  if (is_pickle_head(head)) refuse_pickle(input.name());
  if (head.starts_with("PAR1"))
    throw DataError(input.name(), 0,
                    "found a Parquet file, which is not read; make a CSV of it: python3 -c \"import pandas; "
                    "pandas.read_parquet('" +
                        input.name() + "').to_csv('data.csv', index=False)\"");

  std::string_view name = input.name();
  if (name.ends_with(".gz")) name.remove_suffix(3);
  auto extension = [&](std::initializer_list<std::string_view> endings) {
    return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return name.ends_with(e); });
  };
  if (extension({".npy"})) return Format::npy;
  if (extension({".npz"})) return Format::npz;
  if (extension({".safetensors"})) return Format::safetensors;
  if (extension({"-ubyte", ".idx"})) return Format::idx;
  const bool has_text_columns =
      options.schema && options.schema->table && !options.schema->table->text_columns.empty();
  if (has_text_columns && extension({".csv"})) return Format::csv;  // whose columns are then asked for
  if (has_text_columns && names_columns(input, options.schema->table->text_columns))
    return input.peek(kHead).substr(0, input.peek(kHead).find('\n')).find('\t') != std::string_view::npos
               ? Format::tsv
               : Format::csv;
  if (options.schema && options.schema->text) return Format::text;
  if (extension({".svm", ".libsvm", ".svmlight"})) return Format::svmlight;
  if (extension({".csv"})) return Format::csv;
  if (!options.text_columns.empty()) {
    const std::string_view all = input.peek(kHead), first = all.substr(0, all.find('\n'));
    return first.find('\t') != std::string_view::npos ? Format::tsv : Format::csv;
  }

  std::vector<std::string_view> lines = first_lines(input);
  if (lines.empty()) throw DataError(input.name(), 0, kNoRows);
  bool text = options.target.empty() && options.weight_column.empty() && looks_like_text(lines);
  if (extension({".tsv"})) return text ? Format::text : Format::tsv;
  if (looks_like_svmlight(lines[0])) return Format::svmlight;
  if (text) return Format::text;
  if (lines[0].find('\t') != std::string_view::npos) return Format::tsv;
  if (lines[0].find_first_of(",;") != std::string_view::npos) return Format::csv;
  throw DataError(
      input.name(), 0,
      "found " + quoted_text(lines[0]) +
          ", which fits no format: a text needs its label and a tab before it (label<TAB>text), a "
          "table commas, semicolons or tabs; if it has another of the formats svmlight, csv, tsv, npy, "
          "npz, safetensors, idx, name it (" +
          option_name("format") + ")");
}

uint64_t text_header(Input& input, Header header) {
  if (header == Header::no) return 0;
  std::string_view head = input.peek(kHead);
  size_t size = std::min(record_end(head, {}), head.size() - 1) + 1;
  if (header == Header::yes) return size;
  std::string line = lowercase(head.substr(0, std::min<size_t>(size, 32)));
  while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
  for (std::string name : {"label", "target", "class", "y"})
    if (line == name + "\ttext") return size;
  return 0;
}

std::unique_ptr<Input> open_rows(const std::string& path, const ReadOptions& options) {
  const std::vector<std::string> files = files_of_path(path);
  std::error_code none;
  for (const std::string& file : files) {
    if (files.size() == 1 || !std::filesystem::is_regular_file(file, none)) break;
    const std::unique_ptr<Input> first = Input::open(file);
    first->skip_byte_order_mark();
    if (first->peek(1).empty()) continue;
    const Format format =
        options.format == Format::automatic ? detect_format(*first, options) : options.format;
    const bool has_header = format == Format::text ? text_header(*first, options.header) > 0
                                                   : options.header != Header::no &&
                                                         (format == Format::csv || format == Format::tsv);
    return Input::open(path, has_header ? Headers::shared : Headers::none);
  }
  return Input::open(path);
}

}  // namespace selfnorm
