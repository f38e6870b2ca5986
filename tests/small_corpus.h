// Corpora of a few words for tests.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "data/corpus/token_corpus.h"

namespace selfnorm {

// read(path of a file with this text, folder).
template <class Read>
auto from_text(const std::string& text, const Read& read) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  std::string path = folder + "/selfnorm-XXXXXX";
  close(mkstemp(path.data()));
  std::ofstream(path) << text;
  auto result = read(path, folder);
  std::filesystem::remove(path);
  return result;
}

// <unk> and </s> come before the words given.
inline TokenCorpus small_corpus(const std::string& text, std::vector<std::string> words) {
  words.insert(words.begin(), {"<unk>", "</s>"});
  return from_text(text, [&](const std::string& path, const std::string& folder) {
    return read_corpus(path, WordVocabulary(words), folder);
  });
}

// Every word of the text is in the vocabulary.
inline LearnedCorpus learned_corpus(const std::string& text) {
  return from_text(text, [](const std::string& path, const std::string& folder) {
    return learn_corpus(path, {.vocabulary = {.min_count = 1}}, folder);
  });
}

}  // namespace selfnorm
