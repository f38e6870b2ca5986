#include "text.h"

#include <fmt/format.h>

#include "grams.h"
#include "part.h"
#include "quote.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/memory.h"
#include "sniff.h"
#include "text_fit.h"

namespace selfnorm {
namespace {

struct TextPart : Part {
  StringIndex grams;  // what `column` numbers while the vocabulary is not known
};

class TextParser {
 public:
  explicit TextParser(const ReadOptions& options) : options_(options), labels_(options) {
    if (options.schema) encoder_ = &*options.schema->text;
  }

  TextPart operator()(std::string_view text) const {
    TextPart part;
    part.bytes = text.size();
    while (!text.empty()) {
      uint64_t line = part.lines, rows = part.rows();
      std::string_view record = take_record(text, {}, part.lines);
      std::string message = record.empty() ? "" : parse(record, part);
      part.count(rows);
      if (!message.empty()) part.bad.push_back({line, part.rows(), std::move(message), std::nullopt});
    }
    return part;
  }

 private:
  std::string parse(std::string_view line, TextPart& part) const {
    size_t tab = line.find('\t');
    bool labelled = tab != std::string_view::npos && tab > 0;
    if (!labelled && options_.require_labels)
      return fmt::format("found {}, expected label<TAB>text", quoted_text(line));
    uint32_t target = Dataset::kNoTarget;
    std::string message = labels_.number(labelled ? line.substr(0, tab) : "", part.labels, target);
    if (!message.empty()) return message;
    SparseRow row = features(line.substr(tab == std::string_view::npos ? 0 : tab + 1), part.grams);
    part.column.insert(part.column.end(), row.column.begin(), row.column.end());
    part.value.insert(part.value.end(), row.value.begin(), row.value.end());
    part.row_end.push_back(part.column.size());
    part.target.push_back(target);
    return {};
  }

  SparseRow features(std::string_view text, StringIndex& grams) const {
    if (encoder_) return encoder_->encode(text);
    std::vector<uint32_t> columns;
    bool hashed = options_.text.hash_buckets > 0;
    for_each_gram(text, options_.text, [&](std::string_view gram) {
      columns.push_back(hashed ? hash_bucket(gram, options_.text) : grams.add(gram));
    });
    return count_columns(columns);
  }

  const ReadOptions& options_;
  LabelRule labels_;
  const TextEncoder* encoder_ = nullptr;
};

}  // namespace

ReadResult read_text(Input& input, const ReadOptions& options) {
  if (options.schema && !options.schema->text)
    throw DataError(input.name(), 0,
                    "found text, but the model was trained on numbers and has no text encoder");
  if (!options.schema && options.text.hash_buckets > 0)  // frequencies and idf
    require_memory(12.0 * options.text.hash_buckets,
                   fmt::format("{} hash buckets", options.text.hash_buckets), "ask for fewer");
  uint64_t header = text_header(input, options.header);
  std::string skipped(header, '\0');
  read_fully(input, skipped.data(), header);
  Assembly assembly(input, options, header > 0 ? 2 : 1);
  BlockReader reader(input, {}, options.block_bytes);
  StringIndex grams;
  assembly.take<TextPart>(reader, TextParser(options), [&](TextPart&& part) {
    std::vector<uint32_t> number;
    for (uint32_t g = 0; g < part.grams.size(); ++g) number.push_back(grams.add(part.grams[g]));
    if (!number.empty())
      for (uint32_t& column : part.column) column = number[column];
    for (uint32_t column : part.column) part.columns = std::max(part.columns, column + 1);
    assembly.append(std::move(part));
  });
  ReadResult result = assembly.finish(Format::text);
  if (options.schema) {
    result.text = options.schema->text;
  } else {
    result.text = fit_text(options.text, grams, result.data.features.sparse);
    if (result.text->features() == 0)
      throw DataError(input.name(), 0,
                      "no word or n-gram is frequent enough to be a feature; lower the minimum count");
  }
  return result;
}

}  // namespace selfnorm
