// Data that can be read but hardly be meant.
#pragma once

#include <string>

#include "data/dataset.h"
#include "data/sentences/sequences.h"

namespace selfnorm {

// Why the labels are no classes, and what they may be; empty: nothing speaks against it. They are numbers
// with fractions, more than 20 of them; or nearly all different; or, in a table, more than 100 whole numbers
// most of whose range is not used.
std::string classes_doubt(const Dataset& data, bool is_table);

// Why a file is no text with a sentence a line: most of its first lines are rows of a table (as many commas
// or semicolons, with no blank after them) or of svmlight data, or have one tab. Of a regular file; nothing
// is said of others.
std::string corpus_doubt(const std::string& path);

// Why a file has no sentences of tokens: most of its first lines have as many commas or semicolons, and no
// blank line ends a sentence.
std::string sentences_doubt(const std::string& path);

// Why a file read as label<TAB>text is none: words with labels, and blank lines between sentences.
std::string texts_doubt(const std::string& path);

// Why the labels of sentences are none: nearly all different, or many in a single sentence, or many where the
// last column, which is not the label, has few values (`last_values`; 0: it is the label).
std::string labels_doubt(const Sequences& data, uint64_t labels, uint64_t last_values);

}  // namespace selfnorm
