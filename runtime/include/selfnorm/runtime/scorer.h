// Scores of a model file (model_layout.h) for one input, without allocation. s_k = log_carrier_k + w_k . x +
// bias_k; of a hierarchical model the log-probability of its path (tree.h). With an encoder, x is the state.
#pragma once

#include <cstdint>
#include <span>

#include "selfnorm/runtime/kernels.h"
#include "selfnorm/runtime/log_sum_exp.h"
#include "selfnorm/runtime/model_layout.h"
#include "selfnorm/runtime/nearest_sum.h"

namespace selfnorm::runtime {

// One input: d values, or (index not null) as many values as indices, which are strictly increasing and below
// d.
struct Query {
  std::span<const float> value;
  const uint32_t* index = nullptr;
};

// Best first: higher score, then lower class.
struct Ranked {
  std::span<uint32_t> classes;
  std::span<double> scores;
};

// What a rung gives for an input: a(x) ~ A(x), and the dot products of the size of x that it took.
struct Approximation {
  double log_z = 0;
  uint64_t cost = 0;
};

class Scorer {
 public:
  explicit Scorer(const ModelLayout& layout, const Kernels& kernels = best_kernels());

  // s_k of a class (joint: k = 0); not finite when x is not, when float32 cannot hold it, or when the tree is
  // damaged.
  double score(const Query& query, uint64_t k) const;
  // The same of a class of a model that is not hierarchical, for a state that is not written down.
  double score(const HiddenSum& state, uint64_t k) const;
  // Asks for the weights that score(., k) will read.
  void prefetch(uint64_t k) const;

  // log sum_k exp(s_k) of the same s_k, which is 0 for a hierarchical model; false when a score (x) is not
  // finite.
  bool log_sum(const Query& query, LogSumExp* out) const;

  // Fills `best` with the classes of highest score, and gives log_sum when asked. Returns false, with `best`
  // untouched when x itself is not finite, if any score is not finite.
  bool top(const Query& query, Ranked best, LogSumExp* log_sum) const;

  // b(x) of the model's amortised normalizer, which exists. Not finite when x is not, or on overflow of its
  // hidden units.
  double amortised_normalizer(const Query& query) const;

  // a(x) of a rung of the model's ladder; false when x is not finite, on overflow, and where the clusters of
  // the file are damaged.
  bool log_normalizer(const Query& query, const RungLayout& rung, Approximation* out) const;

  // The bound of selfnorm_score_error_bound_dense.
  double error_bound(const Query& query, uint64_t k) const;

 private:
  // b(x), where extras, if there are any, are added to the hidden units; `slope` may be empty.
  double network(const Query& query, const NormalizerLayout& b, std::span<const float> extra_weight,
                 const double* extras) const;
  bool nearest(const Query& query, const RungLayout& rung, Approximation* out) const;
  // The exact sum over the classes of some clusters.
  bool cluster_sum(const Query& query, std::span<const uint32_t> clusters, LogSumExp* out) const;

  void dot(const Query& query, uint64_t first, std::span<float> out) const;
  double finish(double product, uint64_t k) const;
  double row_score(const Query& query, uint64_t row) const;
  double wide_score(const Query& query, uint64_t row) const;
  bool finish_block(const Query& query, uint64_t first, std::span<const float> products, double* out) const;
  double row_error_bound(const Query& query, uint64_t row) const;
  double stored_weight(uint64_t k, uint64_t j) const;  // of int8: before its scale
  double weight(uint64_t k, uint64_t j) const;

  ModelLayout layout_;
  const Kernels* kernels_;
};

}  // namespace selfnorm::runtime
