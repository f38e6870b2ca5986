// The C runtime behind a C++ face: rows of a Dataset in, log-probabilities out, error codes as Error.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "classifier/model_header.h"
#include "data/dataset.h"
#include "selfnorm.h"

namespace selfnorm::cli {

struct Candidate {
  uint32_t index = 0;  // class, or position in the group
  double log_prob = 0;
};

class RuntimeModel {
 public:
  explicit RuntimeModel(const ModelHeader& header);

  uint32_t classes() const { return selfnorm_classes(model_.get()); }
  uint32_t positions() const { return selfnorm_order(model_.get()) - 1; }  // of a language model
  bool has_normalizer() const { return selfnorm_has_amortised_normalizer(model_.get()) != 0; }
  const selfnorm_model* get() const { return model_.get(); }
  // out[i] = log-probability of classes[i] for the row.
  void score(const Features& x, uint64_t row, std::span<const uint32_t> classes, int kind,
             std::span<double> out) const;
  std::vector<Candidate> top(const Features& x, uint64_t row, size_t n, int kind) const;
  // Joint family: every alternative of rows begin .. end-1, normalised over them when exact.
  std::vector<Candidate> alternatives(const Features& x, uint64_t begin, uint64_t end, int kind) const;

  // Language models: out[i] = log p(words[i] | the i-th context of positions() words).
  void score_contexts(std::span<const uint32_t> contexts, std::span<const uint32_t> words, int kind,
                      std::span<double> out) const;
  // The state of one context, as a dense row of the other calls.
  std::vector<float> context_state(std::span<const uint32_t> context) const;
  void precompute(unsigned threads);

 private:
  struct Close {
    void operator()(selfnorm_model* model) const { selfnorm_close(model); }
  };
  // The function of the C interface for sparse or for dense rows, with the row and what else it takes. A
  // dense row narrower than the model is padded with zeros.
  template <class Sparse, class Dense, class... Rest>
  void call(const Features& x, uint64_t row, Sparse sparse, Dense dense, Rest... rest) const;

  std::string bytes_;  // of a head as a model file
  std::unique_ptr<selfnorm_model, Close> model_;
};

}  // namespace selfnorm::cli
