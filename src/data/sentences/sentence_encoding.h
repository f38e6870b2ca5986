// Tokens to numbers: labels and attributes, learned or those of a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/sentences/read_sequences.h"
#include "data/sentences/template_expansion.h"
#include "data/sentences/token_reader.h"

namespace selfnorm {

// Attributes of a CRFsuite file: name, or name:value; in a name '\:' is a colon and '\\' a backslash.
struct AttributeField {
  std::string name;
  float value = 1;
};

// What is wrong with the field, or nothing.
std::string parse_attribute(std::string_view field, AttributeField& attribute);

// Of an attribute, in size: times parameters up to 1e20 scores stay within float32.
inline constexpr float kLargestValue = 1e15f;

// format, columns, target, templates and has_transitions of an encoder are enough to learn its lists.
class SentenceEncoding {
 public:
  enum class Words { learned, known };
  // `columns` are those of the file; one less than the encoder's where it lacks the labels.
  SentenceEncoding(const SequenceEncoder& encoder, Words words, uint32_t columns);

  enum class Labels { ignored, optional, required };
  struct Source {
    const std::string& name;
    Labels labels;
    bool keeps_unseen = false;
  };
  // Appends the sentence. Throws DataError: an unknown label that is not kept, a missing label, a bad
  // attribute, an attribute where the label stands.
  void append(const TokenLines& sentence, const Source& source, Sequences& out);
  // What was learned, without attributes seen less than `min_count` times, in the data too.
  void finish(uint32_t min_count, Sequences& data, SequenceEncoder& encoder) const;

 private:
  void check_first_field(const TokenLines& sentence, size_t token, const Source& source) const;
  uint32_t label(const TokenLines& sentence, size_t token, const Source& source, UnseenTokens& unseen);
  void append_fields(const TokenLines& sentence, size_t token, const Source& source, AttributeRows& rows);
  void append_expanded(TemplateExpansion& expansion, size_t token, AttributeNumbers& numbers,
                       AttributeRows& rows);

  const SequenceEncoder& encoder_;
  bool is_learning_, has_labels_;
  StringIndex labels_, unseen_;
  AttributeNumbers unigrams_, bigrams_;
  TemplateExpansion unigram_, bigram_;
  std::vector<uint32_t> row_;
  std::vector<AttributeField> attribute_;  // of a position, in room that is kept
  std::vector<std::string_view> name_;
  std::vector<std::pair<uint32_t, float>> valued_;
};

}  // namespace selfnorm
