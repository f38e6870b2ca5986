// Any bytes as sentences: refused with an Error, or rows in order, known labels and attributes, and the same
// data again in the words of their encoder, whole and by sentences. The first byte chooses among the options,
// or makes the rest templates.
#include <cmath>
#include <string>

#include "memory_file.h"
#include "selfnorm/base/error.h"
#include "selfnorm/data/sequence/read_sequences.h"

namespace {

using namespace selfnorm;

void check_rows(const AttributeRows& rows, uint64_t attributes) {
  SELFNORM_CHECK(rows.begin.back() == rows.attribute.size());
  SELFNORM_CHECK(rows.value.empty() || rows.value.size() == rows.attribute.size());
  for (const float value : rows.value) SELFNORM_CHECK(std::isfinite(value));
  for (uint64_t r = 0; r < rows.rows(); ++r) {
    const auto row = rows.attributes(r);
    for (size_t i = 0; i < row.size(); ++i)
      SELFNORM_CHECK(row[i] < attributes && (i == 0 || row[i - 1] < row[i]));
  }
}

void check_read(const std::string& path, const SequenceRead& read) {
  const Sequences& data = read.data;
  SELFNORM_CHECK(data.sentences() > 0 && data.label.size() == data.positions());
  SELFNORM_CHECK(data.unigram.rows() == data.positions());
  SELFNORM_CHECK(data.bigram.rows() == (read.encoder.bigrams.empty() ? 0 : data.positions()));
  for (uint64_t s = 0; s < data.sentences(); ++s) SELFNORM_CHECK(data.length(s) > 0);
  for (const uint32_t label : data.label) SELFNORM_CHECK(label < read.encoder.labels.size());
  check_rows(data.unigram, read.encoder.unigrams.size());
  check_rows(data.bigram, read.encoder.bigrams.size());
  const Sequences again = read_sequences(path, read.encoder, true);
  SELFNORM_CHECK(again.sentence_begin == data.sentence_begin && again.label == data.label);
  SELFNORM_CHECK(again.unigram.begin == data.unigram.begin);
  SELFNORM_CHECK(again.unigram.attribute == data.unigram.attribute &&
                 again.unigram.value == data.unigram.value);
  SELFNORM_CHECK(again.bigram.attribute == data.bigram.attribute);
  SequenceStream stream(path, read.encoder, false);
  Sequences sentence;
  SentenceText text;
  uint64_t attributes = 0;
  while (stream.next(sentence, text)) attributes += sentence.unigram.attribute.size();
  SELFNORM_CHECK(attributes == data.unigram.attribute.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    if ((data[0] & 1u) != 0) {
      const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
      const FeatureTemplates templates = parse_templates(text, "fuzz");
      SELFNORM_CHECK(!templates.list.empty() && templates.text == text);
      return 0;
    }
    SequenceOptions options;
    options.format = static_cast<SequenceFormat>(data[0] >> 1 & 3u);
    options.target = data[0] >> 3 & 3u;
    options.min_count = 1 + (data[0] >> 5 & 1u);
    if ((data[0] & 64u) != 0)
      options.templates = "U:%l[-1,0]/%h[1,0]\nU0:%p[0,0,2]\nB\nB1:%m[0,0,\"[a-z]+\"]\n";
    const MemoryFile file(data + 1, size - 1);
    check_read(file.path(), learn_sequences(file.path(), options));
  } catch (const Error&) {
  }
  return 0;
}
