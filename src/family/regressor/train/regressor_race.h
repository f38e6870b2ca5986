// What held-out rows choose before a regressor is trained: input noise, how wide its features are, and how
// wide the members of an ensemble.
// Mixtures alone race, whose likelihood needs no A(x) and whose steps cost a fifth, each for half of the
// epochs:
//     1. the features that the rows give, with noise;   2. the same without noise;
//     3. features twice as wide, with the better noise;
//     4. for an ensemble, the winner again from other starts, so that every held-out row has an average of
//        mixtures none of which has seen it: PoolTemperatures.
// With few held-out rows 1., 2. and 4. are run on each of kRaceFolds parts of the training rows, trained on
// the others. The smallest mean of held-out NLLs of 1. to 3. wins; wider ones have to win by kWiderGain. What
// an option says does not race, nor does anything with a handful of rows.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "family/regressor/train/regressor_options.h"

namespace selfnorm {

class CheckpointFields;

// T by a likelihood of held-out rows, nll(T), where that is more than chance: 2 n (nll(1) - nll(T)) is
// chi-squared with one degree of freedom when T = 1 is right; otherwise 1.
struct FittedTemperature {
  double temperature = 1, nll = 0;
};
FittedTemperature fit_temperature(double rows, const std::function<double(double)>& nll);

// As many rows of equal weights tell as much as these: (sum w)^2 / sum w^2 [Kish 1965].
double effective_rows(double sum, double sum_of_squares);

// The average of members, a linear pool, is wider than they are: where each is calibrated, it is too wide
// [Ranjan and Gneiting 2010]. With some narrower than others it is a mixture of scales, whose tails can be
// heavy while the middle is narrow. Of M members
//     log T_i = log T + S z_i,   z_i = sqrt(3) (2 i + 1 - M) / M,
// T and S by the likelihood that rows have under averages of members that did not see them; each is taken
// only where it is more than chance: 2 n (gain in nats) above 4, the chi-squared of a likelihood ratio.
// Before rows are seen log T is normal around 0 with a standard deviation of 0.5, so few rows move it less.
struct PoolTemperatures {
  double middle = 1, spread = 0;  // T and S
  double nll = 0, untouched = 0;  // with them, and with T = 1 and S = 0
  double rows = 0;                // that they were fitted on (effective_rows); 0: none
  double alone = 1;               // the T that mixtures of the averages had on the same rows, one by one
  double proposed = 1;            // T before members as they are served had a say; 1: they had none
  double of(uint64_t i, uint64_t members) const;
};
// The temperatures at which mixtures are asked for the density of rows that they did not see.
std::vector<double> pool_grid();
// Of a part of the rows: log p of row j under member m at temperature k of pool_grid() is
// density[m][j * pool_grid().size() + k]; in between it is read off in log T, linearly.
struct PoolPart {
  std::vector<std::vector<double>> density;
  std::vector<double> weight;  // of the rows
};
PoolTemperatures fit_pool(std::span<const PoolPart> parts);
// T > 1 checked by the members as they are served, whose mean NLL of the rows that each held out is nll(T): a
// mixture of half the epochs can be too narrow where a member is not. An average wants a smaller T than its
// members alone; by how much, the mixtures say. So
//     log T = min(log T, max(0, log T' - max(0, log alone - log T))),   T' the likeliest of nll,
// and T = 1 unless T' is more than chance.
PoolTemperatures settled(PoolTemperatures found, double rows, const std::function<double(double)>& nll);

class RegressorRace {
 public:
  static constexpr uint64_t kLeastHeldOut = 200, kLeastRows = 50, kRaceFolds = 5;
  static constexpr double kWiderGain = 0.005;  // nats

  // pool: members of the averages; 1: no temperatures are to be chosen.
  RegressorRace(const RegressorOptions& given, uint64_t rows, uint64_t held_out, uint64_t pool = 1);

  uint64_t heats() const { return runs_.size() * folds_; }
  bool is_raced() const { return raced_ > 1; }
  bool pools() const { return pool_ > 1; }
  // Of so many parts of the training rows, the one that heat i holds out; 1: the rows held out anyway.
  uint64_t folds() const { return folds_; }
  uint64_t fold(uint64_t i) const { return i % folds_; }
  // The start that heat i is trained from: 0, or 1, 2, ... of the winner again.
  uint64_t start(uint64_t i) const { return i / folds_ < raced_ ? 0 : i / folds_ - raced_ + 1; }
  // The mixture to train in heat i, and what was chosen; after the heats before are finished.
  RegressorOptions heat(uint64_t i) const;
  RegressorOptions outcome() const;
  void finish(uint64_t i, double nll) { runs_[i / folds_].nll[i % folds_] = nll; }  // smaller is better

  // What heat i says of the rows of its part: PoolPart::density.
  void keep(uint64_t i, std::vector<double> density) {
    runs_[i / folds_].density[i % folds_] = std::move(density);
  }
  // After all heats. `weight`: of the rows of every part.
  PoolTemperatures temperatures(std::vector<std::vector<double>> weight) const;

  // Of the heats that are finished.
  void state(CheckpointFields& fields, uint64_t finished);
  nlohmann::ordered_json record() const;
  std::string text() const;  // one line
  std::string text(const PoolTemperatures& found) const;

 private:
  enum class Kind { first, noiseless, wider, again };
  struct Run {
    Kind kind;
    std::vector<double> nll;                   // of every fold
    std::vector<std::vector<double>> density;  // of every fold
  };
  struct Choice {
    double noise;
    std::vector<uint32_t> features;
    double nll;
    uint64_t run;
  };
  // What run r tries; and the best of the runs before it that raced.
  Choice tried(uint64_t r) const;
  Choice best(uint64_t r) const;
  std::string place() const {
    return folds_ > 1 ? fmt::format("{} folds of the training rows", folds_) : "held-out rows";
  }

  RegressorOptions given_;  // with what the rows say
  uint64_t folds_ = 1, pool_ = 1;
  uint64_t raced_ = 0;  // runs that differ in what they try
  std::vector<Run> runs_;
};

}  // namespace selfnorm
