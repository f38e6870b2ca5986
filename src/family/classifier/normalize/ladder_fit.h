// The ladder of log-normalizers of a model of classes (theory.md 5): fits its rungs on one part of the inputs
// it is given, 45% and less where they are few, measures and certifies all of them on the other, and takes
// the cheapest that is good enough. The model was not fitted to any of the inputs; where they chose its
// epoch, its l2 or its constant, as the held-out rows of a training do, certificates are a little optimistic.
// The certificates of m rungs hold together with the confidence asked for: each is computed at 1 - (1 -
// confidence) / m, so that one may be chosen freely afterwards. Errors and costs are those of the runtime, on
// the weights as they are stored. Same inputs and options: the same ladder, to the bit; the nanoseconds are
// measured and no part of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/example_source.h"
#include "model/model_file.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm {

// From which on the sum over the classes is worth avoiding, and clusters of them are worth having.
inline constexpr uint32_t kLadderClasses = 1000;

struct LadderOptions {
  double within = runtime::kWithin;                // the error that is allowed, > 0
  double rho = runtime::kWithinShare;              // ... in all but this share of inputs, in (0, 1)
  double confidence = runtime::kWithinConfidence;  // in (0, 1)
  double max_cost = 0;    // > 0: instead of `within`, the most precise rung up to this cost
  bool keep_all = false;  // every rung that costs less than exact, not only the one that is taken
  // false: networks and stops that the fitted inputs rule out as the cheapest rung within `within` are left
  // out.
  bool tries_all = true;
  bool is_hasty = false;  // clusters and tails in fewer iterations, where the model itself was trained in few
  uint32_t from_classes = kLadderClasses;  // of a model with fewer exact is taken and nothing fitted
  bool certifies = true;                   // false: the inputs trained the model, so exact is taken
  uint32_t clusters = 0;                   // 0: by the number of classes
  uint64_t most_fitted = 8000,
           most_certified = 12'000;  // inputs that are used of those that are there, at most
  uint64_t seed = 0;
  std::function<void(const std::string& step)> on_step = {};

  void validate() const;  // throws Error naming the option, the value and the range
};

struct MeasuredRung : Rung {
  double q99 = 0;          // 99% of the certifying inputs are within this
  double nanoseconds = 0;  // of one input, on one thread
  double most_cost = 0;    // of any of them
};

struct LadderFit {
  Ladder ladder;                       // what is to be stored: raw, and what was chosen, or all
  std::vector<MeasuredRung> rungs;     // all, by cost; the last one is exact
  size_t chosen = 0;                   // of them
  uint64_t fitted = 0, certified = 0;  // inputs
  std::string reason;                  // why that one, in words

  const MeasuredRung& best() const { return rungs[chosen]; }
  const MeasuredRung& exact() const { return rungs.back(); }
  bool is_exact() const { return chosen + 1 == rungs.size(); }
};

// model: multiclass, with weights as they are stored, and `inputs` its states or features. A ladder that the
// model has is not looked at. With fewer than `from_classes` classes, or too few inputs to certify anything,
// exact is taken and nothing fitted. What is fitted depends on the first part of the inputs alone, so the m
// of the certificates is the number of rungs that were fitted.
LadderFit fit_ladder(const ModelFile& model, const ExampleSource& inputs, const LadderOptions& options);
// The same of inputs that are parted already.
LadderFit fit_ladder(const ModelFile& model, const ExampleSource& fitting, const ExampleSource& certifying,
                     const LadderOptions& options);

// "nearest-0.05: 1,234 of 33,278 dot products, 18 times as fast as exact; within 0.08 for 99% of inputs
// (confidence 99%)"
std::string chosen_text(const LadderFit& fit);

// A row of features as the runtime takes it.
inline runtime::Query query_of(const Features& x, uint64_t row) {
  static constexpr uint32_t kNone = 0;
  if (!x.is_sparse) return {x.dense.row(row)};
  const uint64_t begin = x.sparse.begin[row], n = x.sparse.begin[row + 1] - begin;
  return {{x.sparse.value.data() + begin, n}, n == 0 ? &kNone : x.sparse.column.data() + begin};
}

}  // namespace selfnorm
