// b of nce and snl while it is learned (theory.md 3): 0, a constant, a linear function of the state x or a
// small network of it (model/amortised_normalizer.h). It reads the state and does not move it: at the optimum
// b = A the expected derivative of the loss with respect to b is 0, so what would flow back is noise.
//
// Steps: every derivative is clipped to [-1, 1] per example (1 - r is unbounded for snl when b is too small),
// and the parameters take steps of AdaGrad with G0 = 1 at ten times the rate of the model's, at most 1:
// near the optimum d^2/db^2 = 1 for snl and less for nce, so a rate of 1 is Newton's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "selfnorm/model/model_file.h"
#include "selfnorm/model/multiclass.h"
#include "selfnorm/objective/options.h"
#include "selfnorm/train/checkpoint.h"

namespace selfnorm {

template <class Real>
class LearnedNormalizer {
 public:
  // options.normalizer and normalizer_hidden say which b; it starts at `start` for every x.
  LearnedNormalizer(const ObjectiveOptions& options, uint32_t features, double start, uint64_t seed);
  ~LearnedNormalizer();

  // b(x_i) for every row. The features of a minibatch may be renumbered by `map` (or null).
  std::vector<double> values(const Features& x, const FeatureMap* map) const;
  // One step; d[i] is the derivative of example i's loss with respect to b(x_i), not yet divided by the
  // number of examples.
  void update(const Features& x, const FeatureMap* map, std::span<const double> d, double rate);

  // The part of b that is the same for every x; all of it for zero and constant.
  double constant() const;
  // Whether b depends on x.
  bool is_function() const;
  // log_normalizer and, when b is a function, the amortised normalizer.
  void store(ModelFile& model) const;

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace selfnorm
