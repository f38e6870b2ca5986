// What was read, in one line for people.
#pragma once

#include <string>

#include "selfnorm/data/corpus/word_vocabulary.h"
#include "selfnorm/data/read.h"
#include "selfnorm/data/sentences/sequences.h"

namespace selfnorm::cli {

// "train.svm: svmlight, 1,000 rows, 100 features, 10 classes"
std::string reading_text(const std::string& path, const ReadResult& read);
// "a.vec: embeddings of 90 of 100 words"
std::string vectors_text(const std::string& path, const WordVectors& vectors, uint64_t words);
// A warning on stderr for the rows --skip-bad left out (the first few in words); nothing when there are none.
void note_bad_rows(const std::string& path, const ReadReport& report);
// A warning for examples whose label the model has not seen; nothing when there are none.
void note_unseen(const std::string& path, const UnseenLabels& unseen);
void note_unseen(const std::string& path, const Sequences& data);
// " without 3 unseen labels (with them inf)", after a likelihood; empty for none.
std::string unseen_words(uint64_t unseen);

}  // namespace selfnorm::cli
