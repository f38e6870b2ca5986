#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/memory.h"
#include "data/dataset.h"
#include "data/input/characters.h"
#include "data/input/part.h"
#include "data/input/sniff.h"
#include "data/read.h"
#include "data/string_index.h"
#include "data/text/text_encoder.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint32_t kDropped = 0xFFFFFFFFu;

std::vector<uint64_t> text_frequency(const SparseMatrix& counts, uint64_t features) {
  std::vector<uint64_t> frequency(features, 0);
  for (uint32_t column : counts.column) ++frequency[column];
  return frequency;
}

// Numbers of the n-grams kept, in bytewise order.
std::vector<uint32_t> choose(const TextOptions& options, const StringIndex& grams,
                             const std::vector<uint64_t>& frequency) {
  std::vector<uint32_t> kept;
  for (uint32_t g = 0; g < grams.size(); ++g)
    if (frequency[g] >= options.min_count) kept.push_back(g);
  auto bytewise = [&](uint32_t a, uint32_t b) { return grams[a] < grams[b]; };
  if (options.max_vocabulary > 0 && kept.size() > options.max_vocabulary) {
    std::sort(kept.begin(), kept.end(), [&](uint32_t a, uint32_t b) {
      return frequency[a] != frequency[b] ? frequency[a] > frequency[b] : bytewise(a, b);
    });
    kept.resize(options.max_vocabulary);
  }
  std::sort(kept.begin(), kept.end(), bytewise);
  return kept;
}

// Columns become number[column], sorted; those without a number go.
void renumber(const std::vector<uint32_t>& number, SparseMatrix& counts) {
  auto& begin = counts.begin.own();
  auto& columns = counts.column.own();
  auto& values = counts.value.own();
  uint64_t out = 0;
  std::vector<std::pair<uint32_t, float>> row;
  for (uint64_t r = 0; r + 1 < begin.size(); ++r) {
    row.clear();
    for (uint64_t k = begin[r]; k < begin[r + 1]; ++k)
      if (number[columns[k]] != kDropped) row.emplace_back(number[columns[k]], values[k]);
    std::sort(row.begin(), row.end());
    begin[r] = out;
    for (auto [column, value] : row) {
      columns[out] = column;
      values[out++] = value;
    }
  }
  begin.back() = out;
  columns.resize(out);
  values.resize(out);
}

// Rows are texts, columns the numbers of `grams` (or hash buckets), values counts. Chooses the vocabulary
// (bytewise order), renumbers and weighs the columns in place.
TextEncoder fit_text(const TextOptions& options, const StringIndex& grams, SparseMatrix& counts) {
  bool hashed = options.hash_buckets > 0;
  std::vector<uint64_t> frequency = text_frequency(counts, hashed ? options.hash_buckets : grams.size());
  std::vector<std::string> vocabulary;
  counts.columns = options.hash_buckets;
  if (!hashed) {
    std::vector<uint32_t> kept = choose(options, grams, frequency);
    std::vector<uint32_t> number(grams.size(), kDropped);
    std::vector<uint64_t> kept_frequency;
    for (uint32_t g : kept) {
      number[g] = static_cast<uint32_t>(vocabulary.size());
      vocabulary.emplace_back(grams[g]);
      kept_frequency.push_back(frequency[g]);
    }
    frequency = std::move(kept_frequency);
    renumber(number, counts);
    counts.columns = static_cast<uint32_t>(vocabulary.size());
  }
  std::vector<float> idf;
  if (options.tf_idf) {
    double texts = static_cast<double>(counts.rows());
    for (uint64_t df : frequency)
      idf.push_back(static_cast<float>(1 + std::log((1 + texts) / (1 + static_cast<double>(df)))));
    for (uint64_t r = 0; r < counts.rows(); ++r) {
      uint64_t begin = counts.begin[r], size = counts.begin[r + 1] - begin;
      weigh({counts.column.data() + begin, size}, {counts.value.own().data() + begin, size}, idf);
    }
  }
  return TextEncoder(options, std::move(vocabulary), std::move(idf));
}

struct TextPart : Part {
  StringIndex grams;  // what `column` numbers while the vocabulary is not known
};

class TextParser {
 public:
  explicit TextParser(const ReadOptions& options) : options_(options), labels_(options) {
    if (options.schema) encoder_ = &*options.schema->text;
  }

  TextPart operator()(std::string_view text) const {
    return parse_records(text, {}, TextPart(), [this](std::string_view record, Part::Bad&, TextPart& part) {
      return parse(record, part);
    });
  }

 private:
  std::string parse(std::string_view line, TextPart& part) const {
    size_t tab = line.find('\t');
    bool labelled = tab != std::string_view::npos && tab > 0;
    if (!labelled && options_.require_labels)
      return worded(
          "found {}, expected label<TAB>text{}", quoted_text(line),
          options_.schema
              ? with_options("; texts without labels are answered by predict, or scored with `top N`")
              : "");
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
                    "found texts, but the model was trained on numbers; expected rows with the columns of "
                    "its training data");
  if (!options.schema && options.text.hash_buckets > 0)  // frequencies and idf
    require_memory(12.0 * options.text.hash_buckets,
                   fmt::format("{} hash buckets", options.text.hash_buckets), "ask for fewer");
  const uint64_t header = text_header(input, options.header);
  input.skip(header);
  Assembly assembly(input, options, header > 0 ? 2 : 1);
  StringIndex grams;
  assembly.take<TextPart>({}, TextParser(options), [&](TextPart&& part) {
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
