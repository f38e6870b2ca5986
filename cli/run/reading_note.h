// What was read, in one line for people.
#pragma once

#include <string>
#include <vector>

#include "data/read.h"
#include "data/sentences/sequences.h"

namespace selfnorm::cli {

// "train.svm: svmlight, 1,000 rows, 100 features, 10 classes"
std::string reading_text(const std::string& path, const ReadResult& read);
// Warnings: of the rows --skip-bad left out (the first few in words), of examples whose label the model has
// not seen; none where there are none.
std::vector<std::string> bad_row_warnings(const std::string& path, const ReadReport& report);
std::vector<std::string> unseen_warnings(const std::string& path, const UnseenLabels& unseen);
std::vector<std::string> unseen_warnings(const std::string& path, const Sequences& data);
// The same, said, and what else there is to note of the reading.
void note_reading(const std::string& path, const ReadReport& report);
void note_unseen(const std::string& path, const UnseenLabels& unseen);
void note_unseen(const std::string& path, const Sequences& data);
// Warns of data that are hardly meant, where there is a doubt (data/plausible.h).
void warn_of_doubt(const std::string& path, const std::string& doubt);
// Warns where a stream of sentences had none.
void note_no_sentence(const std::string& path, uint64_t sentences,
                      const char* expected = "a token a line and a blank line after every sentence");
// " without 3 unseen labels (with them inf)", after a likelihood; empty for none.
std::string unseen_words(uint64_t unseen);

}  // namespace selfnorm::cli
