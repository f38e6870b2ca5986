// Reads sentences: CoNLL columns (white space or tabs, a blank line between sentences, a token may begin with
// '#'), CoNLL-U (comments "# ", ten tab-separated columns, ranges 1-2 and empty nodes 1.1 left out), and
// attribute files of CRFsuite (label TAB attribute[:value] ..., '\:' and '\\' escaped, values at most 1e15 in
// size; a line without a label begins with a tab). Plain or gzipped, - is standard input. Blank lines
// separate sentences, one or many; a sentence that has lines and no token, such as comments of CoNLL-U before
// a blank line, is an error. A labelling mark before the first token is no token, in any format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/sentences/feature_template.h"
#include "data/sentences/sequences.h"
#include "data/string_index.h"

namespace selfnorm {

class Input;

// The line before a labelling that says whose it is: "# sentence=I rank=R", and " log_prob=X kind=KIND" where
// it has been scored. `tag` writes it, readers of sentences know it in every format.
struct LabellingMark {
  struct Score {
    double log_prob;   // finite
    std::string kind;  // lower-case letters: raw, amortised, exact
  };
  uint64_t sentence = 0;  // from 0
  uint64_t rank = 1;      // from 1, the most probable
  std::optional<Score> score = {};
};

// Without the end of the line.
std::string mark_line(const LabellingMark& mark);
// Nothing unless `line` is such a line and nothing else.
std::optional<LabellingMark> parse_mark(std::string_view line);

// automatic, by the first lines: CoNLL-U when the first one but comments and most others have ten
// tab-separated columns and begin with an id; attributes when lines have tabs, and most of their fields hold
// ':' or '=' and they have not always as many, or all fields do (of lines with one attribute: and not all
// first ones, of which there are no more); columns otherwise.
enum class SequenceFormat { automatic, columns, conllu, attributes };

// What turns tokens into attributes and names into numbers; stored in the model.
struct SequenceEncoder {
  SequenceFormat format = SequenceFormat::columns;  // resolved
  uint32_t columns = 0;                             // of the data, the target included; 0 with attributes
  uint32_t target = 0;                              // its column, from 0
  FeatureTemplates templates;                       // none with attributes
  std::vector<std::string> labels, unigrams, bigrams;

  bool has_transitions = true;
};

struct SequenceOptions {
  SequenceFormat format = SequenceFormat::automatic;
  std::string target;     // column from 0, or its name in CoNLL-U; empty: the last (CoNLL-U: UPOS)
  std::string templates;  // text; empty: tagging when there is one input column or CoNLL-U, else chunking
  std::string templates_name;  // of the file, in errors
  uint32_t min_count = 1;      // attributes seen less often in training are left out; >= 1
};

// As it was read, without the blanks around fields; bytes that are not UTF-8 too (else U+FFFD).
struct SentenceText {
  // Of CoNLL-U: a comment, a range or an empty node.
  struct OtherLine {
    size_t before;  // this token; as many as there are: after the last
    std::string text;
  };
  std::vector<std::vector<std::string>> tokens;  // columns of every token
  std::vector<OtherLine> others;                 // in their order
  std::optional<LabellingMark> mark = {};        // of the labelling, where a line says it
};

struct SequenceRead {
  Sequences data;
  SequenceEncoder encoder;
  uint64_t last_values = 0;  // different ones in the last column; 0: it is the label, or there are no columns
};

// Learns labels and attributes. Throws DataError for ragged columns, a missing target, a template that names
// a column that is not there (templates file:line and what the data have), one label only, no sentences, a
// label that CoNLL-U leaves open (_ as UPOS, XPOS, HEAD or DEPREL; elsewhere it is a value).
SequenceRead learn_sequences(const std::string& path, const SequenceOptions& options);
enum class UnseenLabel { refused, kept };

// In the words of a model: unseen attributes are left out, an unseen label is an error with file:line or is
// kept (Sequences::unseen). Labels may be missing (`require_labels` false: a column less throughout, an empty
// label, or _ where it is no label of the model); an attribute in the place of a label is an error.
Sequences read_sequences(const std::string& path, const SequenceEncoder& encoder, bool require_labels,
                         UnseenLabel unseen = UnseenLabel::refused);

// One sentence at a time, for streams; its text beside. Without `require_labels` labels are not looked at:
// they are missing; with it an unseen label is an error with file:line. Keeps a reference to the encoder.
class SequenceStream {
 public:
  SequenceStream(const std::string& path, const SequenceEncoder& encoder, bool require_labels);
  SequenceStream(std::unique_ptr<Input> input, const SequenceEncoder& encoder, bool require_labels);
  ~SequenceStream();
  // Replaces both; false at the end, with the lines of CoNLL-U that come after the last token.
  bool next(Sequences& sentence, SentenceText& text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The encoder of a model for data in `format`; automatic: the same one. Templates that read one column read a
// word: of CoNLL-U it is the form (and the target UPOS), of columns the first of two, the label being the
// second. Templates that read several need the columns of the data they were trained on. Attributes are given
// by the names that templates make of them. Throws Error where the model cannot be given data in that format:
// it has no templates, or attributes of pairs of labels, which attribute files have not.
SequenceEncoder encoder_for(const SequenceEncoder& encoder, SequenceFormat format);

}  // namespace selfnorm
