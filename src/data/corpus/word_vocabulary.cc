#include "data/corpus/word_vocabulary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/failure.h"
#include "base/option_table.h"
#include "data/corpus/sentence_reader.h"
#include "data/input/characters.h"
#include "data/input/records.h"

namespace selfnorm {
namespace {

constexpr size_t kVectorBlockBytes = size_t{1} << 20;

class Reader {
 public:
  Reader(std::string file, const StringIndex& words, uint32_t dimension)
      : file_(std::move(file)), words_(words), dimension_(dimension) {
    out_.values.assign(size_t{words.size()} * dimension, std::numeric_limits<float>::quiet_NaN());
  }

  void add(std::string_view line, uint64_t number) {
    line_ = number;
    split(line);
    if (fields_.empty()) return;
    if (is_first_) {
      is_first_ = false;
      if (fields_.size() == 2 && is_natural(fields_[0]) && is_natural(fields_[1])) {
        expect_dimension(fields_[1]);
        return;
      }
      expect_dimension(std::to_string(fields_.size() - 1));
    }
    ++out_.rows;
    if (fields_.size() <= dimension_)
      fail(fmt::format("found {} fields, expected a word and {} numbers", fields_.size(), dimension_));
    const std::string_view last = fields_[fields_.size() - dimension_ - 1];  // of the word
    const char* begin = fields_.front().data();
    take({begin, static_cast<size_t>(last.data() + last.size() - begin)});
  }

  WordVectors finish() {
    line_ = 0;
    if (out_.rows == 0) fail("found no vectors, expected lines of a word and its numbers");
    return std::move(out_);
  }

  [[noreturn]] void fail(const std::string& what) const { throw DataError(file_, line_, what); }

 private:
  void split(std::string_view line) {
    fields_.clear();
    for (size_t at = 0; at < line.size();) {
      const size_t end = std::min(line.find_first_of(" \t", at), line.size());
      if (end > at) fields_.push_back(line.substr(at, end - at));
      at = end + 1;
    }
  }
  static bool is_natural(std::string_view field) {
    return field.find_first_not_of("0123456789") == std::string_view::npos;
  }
  void expect_dimension(std::string_view found) const {
    if (found == std::to_string(dimension_)) return;
    if (found == "0" || found.size() > 4)
      fail("found no line of a word and its numbers, expected the text format of word2vec (.vec, not .bin)");
    fail(worded("found vectors of {} numbers, expected {}; give `dimension {}`", found, dimension_, found));
  }
  void take(std::string_view word) {
    const auto number = words_.find(word);
    if (!number) return;
    float* row = out_.values.data() + size_t{*number} * dimension_;
    if (!std::isnan(row[0])) return;
    for (const std::string_view field : std::span(fields_).last(dimension_)) {
      const char* end = field.data() + field.size();
      if (parse_float(field.data(), end, *row++) != end)
        fail(fmt::format("in the vector of {}: {}", quoted_text(word), number_error(field)));
    }
    ++out_.found;
  }

  std::string file_;
  const StringIndex& words_;
  uint32_t dimension_;
  uint64_t line_ = 0;
  bool is_first_ = true;
  std::vector<std::string_view> fields_;
  WordVectors out_;
};

}  // namespace

OptionTable vocabulary_option_table(VocabularyOptions& o) {
  OptionTable table;
  table.add("min-count", &o.min_count, "Words seen less than N times become <unk>").at_least(1);
  table.add("max-vocabulary", &o.max_words, "Keep at most the N most frequent words; 0 keeps all");
  return table;
}

void VocabularyOptions::validate() const {
  VocabularyOptions copy = *this;
  vocabulary_option_table(copy).validate();
  require_range(max_words < 0xFFFFFFF0u, "max-vocabulary", static_cast<double>(max_words),
                "at most 2^32 - 17");
}

WordVocabulary::WordVocabulary(const std::vector<std::string>& words) {
  if (words.size() < 2 || words[kUnknown] != kUnknownWord || words[kEnd] != kEndWord)
    throw_error("a vocabulary of {} words without {} and {} at its beginning", words.size(), kUnknownWord,
                kEndWord);
  for (uint32_t i = 0; i < words.size(); ++i)
    if (index_.add(words[i]) != i) throw_error("the vocabulary names {} twice", quoted_text(words[i]));
}

std::vector<uint32_t> frequent_words(const StringIndex& words, std::span<const uint64_t> counts,
                                     const VocabularyOptions& options) {
  std::vector<uint32_t> kept;
  for (uint32_t i = WordVocabulary::kEnd + 1; i < words.size(); ++i)
    if (counts[i] >= options.min_count) kept.push_back(i);
  std::sort(kept.begin(), kept.end(), [&](uint32_t a, uint32_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : words[a] < words[b];
  });
  if (options.max_words > 0 && kept.size() > options.max_words) kept.resize(options.max_words);
  kept.insert(kept.begin(), {WordVocabulary::kUnknown, WordVocabulary::kEnd});
  return kept;
}

WordVectors read_word_vectors(const std::string& path, const StringIndex& words, uint32_t dimension) {
  const auto input = Input::open(path, Headers::none);
  Reader reader(input->name(), words, dimension);
  BlockReader blocks(*input, {}, kVectorBlockBytes);
  uint64_t line = 0;
  try {
    for (Block block; blocks.next(block);) {
      if (block.failure) std::rethrow_exception(block.failure);
      for (std::string_view text = block.text(); !text.empty();) {
        const uint64_t number = line + 1;
        reader.add(take_record(text, {}, line), number);
      }
    }
  } catch (const LongRecord& error) {
    throw DataError(input->name(), line + 1, error.what());
  }
  return reader.finish();
}

}  // namespace selfnorm
