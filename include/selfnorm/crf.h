// Conditional random fields: the labels y_1 .. y_T of a sentence together, p(y|x) = exp(s(x,y) - A(x)), with
// s a sum over positions and pairs of neighbours.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "selfnorm/error.h"
#include "selfnorm/options.h"
#include "selfnorm/progress.h"

namespace selfnorm {

using Attributes = std::vector<std::string>;        // of a position, such as {"word=cat", "next=sat"}
using AttributeSentence = std::vector<Attributes>;  // a list a position
using LabelSequence = std::vector<std::string>;     // a label a position

struct TaggedSequence {
  LabelSequence labels;        // the most probable
  double log_probability = 0;  // exact
};

struct CrfQuality {
  uint64_t sentences = 0, tokens = 0;
  double accuracy = 0;   // of labels
  double nll_exact = 0;  // of a sentence: mean of A - s
  double nll_raw = 0;    // mean of -s: what raw scores give
  double log_z_rms = 0;  // of A of a sentence
};

class Crf {
 public:
  // Holds out a tenth of the sentences (of 20 and more) to know when to stop. Throws Error for data or
  // options that cannot be used, and when `observer` asked to stop.
  static Crf train(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y,
                   const Options& options = {});
  static Crf train(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y,
                   const Options& options, TrainObserver& observer);
  // A file of `selfnorm train crf` or of save(), or the run directory it is in. Attributes of models with
  // templates are what the templates make, "U00:cat"; those of pairs of labels are refused.
  static Crf load(const std::string& path);
  void save(const std::string& path) const;

  const std::vector<std::string>& labels() const;
  // Attributes that the model does not know are left out.
  std::vector<TaggedSequence> tag(const std::vector<AttributeSentence>& x) const;
  // Of each sentence, positions x labels: p(y_t = k | x).
  std::vector<std::vector<double>> marginals(const std::vector<AttributeSentence>& x) const;
  CrfQuality evaluate(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y) const;

 private:
  struct Content;
  explicit Crf(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

}  // namespace selfnorm
