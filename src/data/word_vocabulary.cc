#include "selfnorm/data/word_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

#include "quote.h"
#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/data/sentence_reader.h"

namespace selfnorm {

void VocabularyOptions::validate() const {
  require_range(min_count >= 1, "min-count", static_cast<double>(min_count), "at least 1");
  require_range(max_words < 0xFFFFFFF0u, "max-vocabulary", static_cast<double>(max_words),
                "at most 2^32 - 17");
}

WordVocabulary::WordVocabulary(const std::vector<std::string>& words) {
  if (words.size() < 2 || words[kUnknown] != kUnknownWord || words[kEnd] != kEndWord)
    throw Error(fmt::format("a vocabulary of {} words without {} and {} at its beginning", words.size(),
                            kUnknownWord, kEndWord));
  for (uint32_t i = 0; i < words.size(); ++i)
    if (index_.add(words[i]) != i)
      throw Error(fmt::format("the vocabulary names {} twice", quoted_text(words[i])));
}

std::vector<uint32_t> frequent_words(const StringIndex& words, std::span<const uint64_t> counts,
                                     const VocabularyOptions& options) {
  std::vector<uint32_t> kept;
  for (uint32_t i = WordVocabulary::kEnd + 1; i < words.size(); ++i)
    if (counts[i] >= options.min_count) kept.push_back(i);
  std::sort(kept.begin(), kept.end(), [&](uint32_t a, uint32_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : words[a] < words[b];
  });
  if (options.max_words > 0 && kept.size() > options.max_words) kept.resize(options.max_words);
  kept.insert(kept.begin(), {WordVocabulary::kUnknown, WordVocabulary::kEnd});
  return kept;
}

}  // namespace selfnorm
