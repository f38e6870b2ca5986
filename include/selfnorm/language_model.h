// Neural n-gram language models: p(w | the n - 1 words before it), whose raw scores are nearly
// log-probabilities.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "selfnorm/error.h"
#include "selfnorm/options.h"
#include "selfnorm/run.h"

namespace selfnorm {

// Means over words, of which </s> is one a sentence.
struct LanguageQuality {
  uint64_t words = 0, unknown = 0;  // of the text; of these, those that are <unk>
  double perplexity_exact = 0, perplexity_raw = 0;
  double log_z_rms = 0;  // of A - c
};

// All that a model remembers of a sentence; plain data.
struct SentenceState {
  std::array<uint32_t, 16> words = {};
  bool operator==(const SentenceState&) const = default;
};

class LanguageModel {
 public:
  // Sentences are words separated by white space. Options are those of `selfnorm train lm`, order, min-count
  // and max-vocabulary among them. A twentieth of the sentences is held out to know when to stop. Throws
  // Error for data or options that cannot be used, Stopped when the observer asked to stop.
  static LanguageModel train(const std::vector<std::string>& sentences, const Options& options = {},
                             const Run& run = {});
  // A file of `selfnorm train lm` or of save(), or the run directory it is in.
  static LanguageModel load(const std::string& path);
  void save(const std::string& path) const;

  uint32_t order() const;                              // n
  const std::vector<std::string>& vocabulary() const;  // <unk> and </s> among them
  // Of every word and of the </s> after the last: exact, and raw.
  std::vector<double> log_probabilities(const std::string& sentence) const;
  std::vector<double> raw_log_probabilities(const std::string& sentence) const;
  bool has_word(const std::string& word) const;
  // Before the first word of a sentence, and of a context of which nothing is known (it is unknown words).
  SentenceState begin_sentence() const;
  SentenceState no_context() const;
  // log p(word | in), and the state after it. The word "</s>" ends a sentence.
  double score(const SentenceState& in, const std::string& word, SentenceState& out,
               bool is_exact = true) const;
  LanguageQuality evaluate(const std::vector<std::string>& sentences) const;

 private:
  struct Content;
  explicit LanguageModel(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::vector<double> scored(const std::string& sentence, int kind) const;
  std::shared_ptr<const Content> content_;
};

}  // namespace selfnorm
