// What held-out rows choose before a regressor is trained: input noise, and how wide its features are.
// Mixtures alone race, whose likelihood needs no A(x) and whose steps cost a fifth, each for half of the
// epochs:
//     1. the features that the rows give, with noise;   2. the same without noise;
//     3. features twice as wide, with the better noise.
// With few held-out rows 1. and 2. are run on each of kRaceFolds parts of the training rows, trained on the
// others. The smallest mean of held-out NLLs wins; wider ones have to win by
// kWiderGain. What an option says does not race, nor does anything with a handful of rows.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "family/regressor/train/regressor_options.h"

namespace selfnorm {

class CheckpointFields;

class RegressorRace {
 public:
  static constexpr uint64_t kLeastHeldOut = 200, kLeastRows = 50, kRaceFolds = 5;
  static constexpr double kWiderGain = 0.005;  // nats

  RegressorRace(const RegressorOptions& given, uint64_t rows, uint64_t held_out);

  uint64_t heats() const { return runs_.size() * folds_; }
  // Of so many parts of the training rows, the one that heat i holds out; 1: the rows held out anyway.
  uint64_t folds() const { return folds_; }
  uint64_t fold(uint64_t i) const { return i % folds_; }
  // The mixture to train in heat i, and what was chosen; after the heats before are finished.
  RegressorOptions heat(uint64_t i) const;
  RegressorOptions outcome() const;
  void finish(uint64_t i, double nll) { runs_[i / folds_].nll[i % folds_] = nll; }  // smaller is better

  // Of the heats that are finished.
  void state(CheckpointFields& fields, uint64_t finished);
  nlohmann::ordered_json record() const;
  std::string text() const;  // one line

 private:
  enum class Kind { first, noiseless, wider };
  struct Run {
    Kind kind;
    std::vector<double> nll;  // of every fold
  };
  struct Choice {
    double noise;
    std::vector<uint32_t> features;
    double nll;
  };
  // What run r tries; and the best of the runs before it.
  Choice tried(uint64_t r) const;
  Choice best(uint64_t r) const;

  RegressorOptions given_;  // with what the rows say
  uint64_t folds_ = 1;
  std::vector<Run> runs_;
};

}  // namespace selfnorm
