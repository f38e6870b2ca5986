// A language model as multiclass data: the class is the next word, the features are one-hot codes of the
// words before it, x = (e_w(-1), e_w(-2), ...). One word of context would be a saturated model, which
// normalises at no cost; two or more are not.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"

namespace selfnorm {

struct NextWordOptions {
  uint32_t vocabulary = 500;       // K: the most frequent words, and one class for all others; >= 2
  uint32_t context = 2;            // words before; >= 1
  uint64_t examples = UINT64_MAX;  // the first so many of the text
};

// A word is a run of letters (ASCII letters in lower case, any byte above 127); the order of equally frequent
// words is that of their bytes. Throws Error when the text has too few different words or too few words.
Dataset next_word_data(const std::string& text, const NextWordOptions& options);

// The file, or without a name the licence texts that every Debian system has, joined in the order of their
// names. Throws Error.
std::string language_text(const std::string& file);

}  // namespace selfnorm
