// Neural n-gram language models: p(w | the n - 1 words before it), whose raw scores are nearly
// log-probabilities.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "selfnorm/error.h"
#include "selfnorm/options.h"
#include "selfnorm/progress.h"

namespace selfnorm {

// Means over words, of which </s> is one a sentence.
struct LanguageQuality {
  uint64_t words = 0, unknown = 0;  // of the text; of these, those that are <unk>
  double perplexity_exact = 0, perplexity_raw = 0;
  double log_z_rms = 0;  // of A - c
};

class LanguageModel {
 public:
  // Sentences are words separated by white space. Options are those of `selfnorm train lm`, order, min-count
  // and max-vocabulary among them. A twentieth of the sentences is held out to know when to stop. Throws
  // Error for data or options that cannot be used, and when `observer` asked to stop.
  static LanguageModel train(const std::vector<std::string>& sentences, const Options& options = {});
  static LanguageModel train(const std::vector<std::string>& sentences, const Options& options,
                             TrainObserver& observer);
  // A file of `selfnorm train lm` or of save(), or the run directory it is in.
  static LanguageModel load(const std::string& path);
  void save(const std::string& path) const;

  uint32_t order() const;                              // n
  const std::vector<std::string>& vocabulary() const;  // <unk> and </s> among them
  // Of every word and of the </s> after the last: exact, and raw.
  std::vector<double> log_probabilities(const std::string& sentence) const;
  std::vector<double> raw_log_probabilities(const std::string& sentence) const;
  LanguageQuality evaluate(const std::vector<std::string>& sentences) const;

 private:
  struct Content;
  explicit LanguageModel(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::vector<double> scored(const std::string& sentence, int kind) const;
  std::shared_ptr<const Content> content_;
};

}  // namespace selfnorm
