// Conditional random fields: the labels y_1 .. y_T of a sentence together, p(y|x) = exp(s(x,y) - A(x)), with
// s a sum over positions and pairs of neighbours.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "selfnorm/error.h"
#include "selfnorm/options.h"
#include "selfnorm/run.h"

namespace selfnorm {

struct CrfModel;
struct Sequences;

// Of a position: "word=cat", 1 unless it says otherwise.
struct Attribute {
  std::string name;
  float value = 1;

  Attribute(std::string named, float valued = 1) : name(std::move(named)), value(valued) {}
  Attribute(const char* named) : name(named) {}
};
using Attributes = std::vector<Attribute>;
using AttributeSentence = std::vector<Attributes>;            // a list a position
using TokenSentence = std::vector<std::vector<std::string>>;  // the columns of every token, the word first
using LabelSequence = std::vector<std::string>;               // a label a position

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
  // options that cannot be used, Stopped when the observer asked to stop.
  static Crf train(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y,
                   const Options& options = {}, const Run& run = {});
  // Tokens, whose attributes the option templates makes ("U00:%x[0,0]", a line each; empty: the program's).
  static Crf train(const std::vector<TokenSentence>& x, const std::vector<LabelSequence>& y,
                   const Options& options = {}, const Run& run = {});
  // A file of `selfnorm train crf` or of save(), or the run directory it is in. A model with templates takes
  // tokens, or attributes as its templates make them, "U00:cat", if none is of pairs of labels.
  static Crf load(const std::string& path);
  void save(const std::string& path) const;

  const std::vector<std::string>& labels() const;
  bool has_templates() const;
  // The `best` most probable labellings of every sentence, best first, fewer where there are fewer.
  // Attributes that the model does not know are left out.
  using Tagged = std::vector<std::vector<TaggedSequence>>;
  Tagged tag(const std::vector<AttributeSentence>& x, uint32_t best) const;
  Tagged tag(const std::vector<TokenSentence>& x, uint32_t best) const;
  std::vector<TaggedSequence> tag(const std::vector<AttributeSentence>& x) const;
  // Of each sentence, positions x labels: p(y_t = k | x).
  std::vector<std::vector<double>> marginals(const std::vector<AttributeSentence>& x) const;
  std::vector<std::vector<double>> marginals(const std::vector<TokenSentence>& x) const;
  CrfQuality evaluate(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y) const;
  CrfQuality evaluate(const std::vector<TokenSentence>& x, const std::vector<LabelSequence>& y) const;

 private:
  struct Content;
  static std::shared_ptr<const Content> opened(CrfModel&& model);
  Sequences read(const std::vector<AttributeSentence>& x, const std::vector<LabelSequence>& y) const;
  Sequences read(const std::vector<TokenSentence>& x, const std::vector<LabelSequence>& y) const;
  Tagged tagged(const Sequences& data, uint32_t best) const;
  std::vector<std::vector<double>> marginals_of(const Sequences& data) const;
  CrfQuality quality(const Sequences& data) const;
  explicit Crf(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

}  // namespace selfnorm
