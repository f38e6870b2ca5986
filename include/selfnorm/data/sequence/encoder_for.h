// Data in another format than those that a chain was trained on.
#pragma once

#include "selfnorm/data/sequence/read_sequences.h"

namespace selfnorm {

// The encoder of a model for data in `format`; automatic: the same one. Templates that read one column read a
// word: of CoNLL-U it is the form (and the target UPOS), of columns the first of two, the label being the
// second. Templates that read several need the columns of the data they were trained on. Attributes are given
// by the names that templates make of them. Throws Error where the model cannot be given data in that format:
// it has no templates, or attributes of pairs of labels, which attribute files have not.
SequenceEncoder encoder_for(const SequenceEncoder& encoder, SequenceFormat format);

}  // namespace selfnorm
