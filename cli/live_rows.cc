#include "live_rows.h"

#include <algorithm>
#include <optional>

#include "base/failure.h"
#include "data/input/sniff.h"
#include "data/table/json_lines.h"
#include "data/table/table_sample.h"

namespace selfnorm::cli {
namespace {

constexpr size_t kBytesAtOnce = size_t{1} << 20;

bool is_of_lines(Format format) {
  return format == Format::svmlight || format == Format::csv || format == Format::tsv ||
         format == Format::text;
}

class LiveBlocks {
 public:
  LiveBlocks(const std::string& path, ReadOptions options)
      : input_(open_rows(path, options)), options_(std::move(options)), buffer_(kBytesAtOnce, '\0') {}

  void run(const std::function<void(const RowBlock&)>& visit) {
    bool is_end = false;
    while (!is_end) {
      const size_t n = input_->read(buffer_.data(), buffer_.size());
      is_end = n == 0;
      waiting_.append(buffer_, 0, n);
      if (!format_ && !start(is_end)) continue;
      if (!is_of_lines(*format_)) {
        waiting_ += input_->read_rest();
        return visit({.read = read_dataset_from_memory(input_->name(), waiting_, options_), .text = {}});
      }
      give(is_end, visit);
    }
    if (records_ == 0) throw DataError(input_->name(), 0, kNoRows);
  }

 private:
  // Finds format, separator and header; false while there is too little to tell.
  bool start(bool is_end) {
    if (waiting_.starts_with("\xEF\xBB\xBF")) waiting_.erase(0, 3);
    if (!is_end && waiting_.find('\n') == std::string::npos && waiting_.size() < 16) return false;
    const auto first = Input::memory(input_->name(), waiting_);
    if (options_.format == Format::automatic && is_json_lines(*first)) {  // each block is a table of its own
      format_ = Format::text;
      return true;
    }
    format_ = options_.format == Format::automatic ? detect_format(*first, options_) : options_.format;
    options_.format = *format_;
    if (options_.schema != nullptr && options_.schema->is_joint)
      format_ = Format::npy;  // groups: all at once
    if (!is_of_lines(*format_)) return true;
    if (*format_ == Format::csv || *format_ == Format::tsv) {
      rule_ = {table_separator(*first, *format_)};
      if (record_end(waiting_, rule_) == std::string::npos && !is_end) return format_.reset(), false;
      const TableSample sample = table_sample(*first, rule_);
      const TableColumns columns(input_->name(), sample, options_.header);
      // One row that is typed is no header unless it names the columns of the model.
      const std::vector<std::string> names = known_columns();
      const bool is_header =
          options_.header == Header::automatic && sample.later == 0 && !names.empty()
              ? std::ranges::any_of(names, [&](const std::string& n) { return columns.named(n).has_value(); })
              : columns.has_header();
      if (is_header) take_header(sample.first_bytes);
      options_.header = is_header ? Header::yes : Header::no;
    } else if (*format_ == Format::text) {
      take_header(text_header(*first, options_.header));
      options_.header = Header::no;
      header_.clear();
    }
    return true;
  }

  std::vector<std::string> known_columns() const {
    if (options_.schema == nullptr) return {};
    if (!options_.schema->table) return options_.schema->feature_names;
    std::vector<std::string> names = options_.schema->table->frame.columns();
    const std::vector<std::string>& texts = options_.schema->table->text_columns;
    names.insert(names.end(), texts.begin(), texts.end());
    return names;
  }

  void take_header(size_t bytes) {
    header_ = waiting_.substr(0, bytes);
    header_lines_ = static_cast<uint64_t>(std::ranges::count(header_, '\n'));
    waiting_.erase(0, bytes);
  }

  void give(bool is_end, const std::function<void(const RowBlock&)>& visit) {
    if (is_end && !waiting_.empty() && waiting_.back() != '\n') waiting_ += '\n';
    const size_t size = is_end ? waiting_.size() : whole_records(waiting_, rule_);
    if (waiting_.find_first_not_of("\r\n") >= size) return;
    const std::string text = header_ + waiting_.substr(0, size);
    const std::string_view rows = std::string_view(text).substr(header_.size());
    try {
      visit({.read = read_dataset_from_memory(input_->name(), text, options_),
             .text = rows,
             .first = records_});
    } catch (const DataError& error) {
      if (error.line() == 0) throw;
      const std::string place = fmt::format("{}:{}: ", input_->name(), error.line()), what = error.what();
      const uint64_t before =
          lines_ + header_lines_ - static_cast<uint64_t>(std::ranges::count(header_, '\n'));
      throw DataError(input_->name(), error.line() + before,
                      what.starts_with(place) ? what.substr(place.size()) : what);
    }
    uint64_t lines = 0;
    for (std::string_view rest = rows; !rest.empty(); ++records_) take_record(rest, rule_, lines);
    lines_ += lines;
    waiting_.erase(0, size);
  }

  std::unique_ptr<Input> input_;
  ReadOptions options_;
  std::optional<Format> format_;
  RecordRule rule_;
  std::string header_, waiting_, buffer_;
  uint64_t header_lines_ = 0, lines_ = 0, records_ = 0;
};

}  // namespace

void for_each_block(const std::string& path, const ReadOptions& options,
                    const std::function<void(const RowBlock&)>& visit) {
  LiveBlocks(path, options).run(visit);
}

}  // namespace selfnorm::cli
