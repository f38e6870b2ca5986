// What a training takes beside data and options.
#pragma once

#include <optional>
#include <span>

#include "selfnorm/error.h"
#include "selfnorm/progress.h"

namespace selfnorm {

// A training ended because its observer asked for it; its checkpoint, if it has one, can be resumed.
class Stopped : public Error {
 public:
  using Error::Error;
};

struct Run {
  Run() = default;
  Run(TrainObserver& watching) : observer(&watching) {}

  TrainObserver* observer = nullptr;  // null: nobody watches
  CheckpointOptions checkpoint = {};
  std::span<const float> weights = {};  // classifiers, regressors: one a row, >= 0; empty: all are 1
  // The share of the rows (sentences) that has no part in the steps and says when to stop, 0..0.5; nothing: a
  // tenth of 20 rows and more, a twentieth of the sentences of a language model, none for `constraint`.
  std::optional<double> hold_out = {};
};

}  // namespace selfnorm
