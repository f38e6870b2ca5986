// A corpus as the numbers of its words, every sentence closed by </s>: what a language model is trained on
// and evaluated with. The numbers are in a mapped file, so memory is the vocabulary, and example i, word w_i
// with the n - 1 before it, is found in O(n).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/corpus/word_vocabulary.h"

namespace selfnorm {

class TokenFile;

class TokenCorpus {
 public:
  // Words of a vocabulary of this size; takes all of the file.
  TokenCorpus(std::shared_ptr<TokenFile> file, uint32_t vocabulary);

  uint64_t examples() const { return tokens_.size(); }
  uint64_t sentences() const { return counts_[WordVocabulary::kEnd]; }
  uint64_t unknown() const { return counts_[WordVocabulary::kUnknown]; }
  uint32_t vocabulary() const { return static_cast<uint32_t>(counts_.size()); }
  // How often each word is there.
  const std::vector<uint64_t>& counts() const { return counts_; }

  uint32_t target(uint64_t i) const { return tokens_[i]; }
  // The words before w_i in its sentence, the oldest first; before the sentence it is padding, vocabulary().
  void context(uint64_t i, std::span<uint32_t> out) const;

  // A hash of all tokens, 16 hexadecimal digits.
  std::string fingerprint() const;

 private:
  std::shared_ptr<TokenFile> file_;
  std::span<const uint32_t> tokens_;
  std::vector<uint64_t> counts_;
};

// Text (data/corpus/sentence_reader.h) in words of `vocabulary`; the tokens go to a nameless file in
// `folder`. Throws Error, DataError for a text without any line.
TokenCorpus read_corpus(const std::string& path, const WordVocabulary& vocabulary, const std::string& folder);

struct CorpusOptions {
  VocabularyOptions vocabulary{};
  double hold_out = 0;  // the share of the sentences held out; [0, 0.5]
  uint64_t seed = 0;    // of the choice of those
};

struct LearnedCorpus {
  WordVocabulary vocabulary;
  TokenCorpus train;
  std::optional<TokenCorpus> held_out;
};

// The vocabulary of a text and the text in words of it. The text is read once, so it may be standard input.
// Held out is one sentence, chosen at random, of each run of 1 / hold_out sentences (never the first of all);
// the vocabulary is of the others. Throws DataError for a text without a frequent word.
LearnedCorpus learn_corpus(const std::string& path, const CorpusOptions& options, const std::string& folder);

}  // namespace selfnorm
