// MODEL where it may be a CRF, and its words.
#pragma once

#include <string>
#include <vector>

#include "grammar/arguments.h"
#include "model/crf/crf_model.h"

namespace selfnorm::cli {

// "auto", "columns", ..., in the order of SequenceFormat.
std::vector<std::string> sequence_format_names();
// Of a word of sequence_format_names().
SequenceFormat sequence_format_of(const std::string& name);

struct NamedCrf {
  std::string path;  // of the file itself
  CrfModel model;
};
// Of a model of this family; throws Error for what is none.
NamedCrf open_crf(const std::string& model);
// Its encoder reads DATA in `format`, a word of --format; auto: as the data it was trained on. Throws Error
// for formats that are none of sentences, or that the model cannot be given.
NamedCrf open_crf(const std::string& model, const std::string& format);
// That encoder, of the model's own.
SequenceEncoder reading_encoder(const SequenceEncoder& own, const std::string& format,
                                const std::string& model);
// Throws Error for a --format of sentences, where MODEL is no CRF.
void refuse_sentences(const Arguments& arguments, const std::string& model);

// "data.conll: columns, 1,000 sentences, 20,000 tokens"
std::string sentences_text(const std::string& path, const SequenceEncoder& encoder, const Sequences& data);

}  // namespace selfnorm::cli
