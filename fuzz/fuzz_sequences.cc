// Any bytes as sentences: refused with an Error, or rows in order, known labels and attributes, and the same
// data again in the words of their encoder, whole, by sentences, and from what the sentences say was read; in
// other formats an Error or rows in order. The first byte chooses among the options, or makes the rest
// templates.
#include <cmath>
#include <string>
#include <vector>

#include "data/sentences/read_sequences.h"
#include "memory_file.h"
#include "selfnorm/error.h"

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

// The sentences of `path` as `tag` writes them, but for the labels; their attributes are those of `data`.
std::string streamed_text(const std::string& path, const SequenceEncoder& encoder, const Sequences& data) {
  SequenceStream stream(path, encoder, false);
  Sequences sentence;
  SentenceText text;
  std::string out = "\n";  // a byte-order mark behind it is a part of the text
  std::vector<uint32_t> attributes;
  while (stream.next(sentence, text)) {
    SELFNORM_CHECK(sentence.sentences() == 1 && text.tokens.size() == sentence.positions());
    attributes.insert(attributes.end(), sentence.unigram.attribute.begin(), sentence.unigram.attribute.end());
    if (text.mark) out += mark_line(*text.mark) + "\n";
    auto other = text.others.begin();
    for (size_t t = 0; t <= text.tokens.size(); ++t) {
      for (; other != text.others.end() && other->before == t; ++other) out += other->text + "\n";
      if (t == text.tokens.size()) break;
      for (size_t c = 0; c < text.tokens[t].size(); ++c) out += (c == 0 ? "" : "\t") + text.tokens[t][c];
      out += "\n";
    }
    SELFNORM_CHECK(other == text.others.end());
    out += "\n";
  }
  SELFNORM_CHECK(text.tokens.empty() && !text.mark);
  for (const auto& [before, line] : text.others) {
    SELFNORM_CHECK(before == 0);
    out += line + "\n";
  }
  SELFNORM_CHECK(attributes == data.unigram.attribute);
  return out;
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
  const std::string text = streamed_text(path, read.encoder, data);
  const MemoryFile written(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  SELFNORM_CHECK(streamed_text(written.path(), read.encoder, data) == text);
}

void check_other_formats(const std::string& path, const SequenceEncoder& encoder) {
  using enum SequenceFormat;
  for (const SequenceFormat format : {columns, conllu, attributes}) try {
      const SequenceEncoder other = encoder_for(encoder, format);
      const Sequences data = read_sequences(path, other, false);
      SELFNORM_CHECK(data.unigram.rows() == data.positions());
      check_rows(data.unigram, other.unigrams.size());
      check_rows(data.bigram, other.bigrams.size());
      for (const uint32_t label : data.label)
        SELFNORM_CHECK(label == kNoLabel || label < other.labels.size());
    } catch (const Error&) {
    }
}

// Refused when it is learned or never: an Error later ends the program.
void check_all(const MemoryFile& file, const SequenceOptions& options) {
  const SequenceRead read = learn_sequences(file.path(), options);
  try {
    check_read(file.path(), read);
  } catch (const Error& error) {
    throw Bug(std::string("what was learned cannot be read: ") + error.what());
  }
  check_other_formats(file.path(), read.encoder);
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
    const unsigned column = data[0] >> 3 & 3u;
    options.target = column == 0 ? "" : std::to_string(column - 1);
    options.min_count = 1 + (data[0] >> 5 & 1u);
    if ((data[0] & 64u) != 0)
      options.templates = "U:%l[-1,0]/%h[1,0]\nU0:%p[0,0,2]\nB\nB1:%m[0,0,\"[a-z]+\"]\n";
    check_all(MemoryFile(data + 1, size - 1), options);
  } catch (const Error&) {
  }
  return 0;
}
