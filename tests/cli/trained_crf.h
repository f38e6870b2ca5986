// A small CRF that commands work on.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/sentence_data.h"

namespace selfnorm::cli {

// A CRF trained exactly, whose log Z is free, in run/, and sentences it has not seen.
struct Trained : Folder {
  explicit Trained(const std::vector<std::string>& more = {"--objective", "exact"}) {
    write("data.conll", sentences_text(150));
    write("test.conll", sentences_text(400, 2));
    write("words.conll", sentences_text(400, 2, false));
    const Outcome outcome = run(train_crf("data.conll", "run", more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  Outcome normalize(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"normalize", "run"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

}  // namespace selfnorm::cli
