// What a model subtracts from its scores to make them log-probabilities: a constant c (b of nce and snl) and,
// where b was learned as a function, b(x) - c of the features as they are in training.
#pragma once

#include <string>

#include "selfnorm/model/amortised_normalizer.h"
#include "selfnorm/train/checkpoint.h"

namespace selfnorm {

struct Subtracted {
  double constant = 0;
  AmortisedNormalizer function;  // none: 0

  void save(const std::string& name, Checkpoint& checkpoint) const;
  // Its function is of the shape of `like`, or there is none.
  void restore(const std::string& name, const Checkpoint& checkpoint, const Subtracted& like);
};

}  // namespace selfnorm
