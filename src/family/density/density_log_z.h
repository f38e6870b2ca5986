// The best log Z of a density that applies, and whether to trust it (theory.md 4):
//   closed-form  exponential families that have one; a base that nothing tilts
//   enumeration  levels up to 2^24 points
//   quadrature   real numbers in up to 3 dimensions; compared with 20,000 draws of the proposal; on a line
//   for
//                every row and column of an autoregressive energy
//   importance   from the model's proposal, with enough effective samples and no heavy tail of weights
//   bridge       otherwise, where its chains agree; not for counts
//   annealed     otherwise; not for counts
// Importance sampling also where quadrature finds no integral. It is not trusted then, nor is quadrature that
// good draws contradict, nor what log_z_doubt doubts.
//
// What that takes is bounded by the size of the model alone (evaluation_cost), so that it is a fraction of
// what training takes: where the proposal is slow to evaluate, up to ten times as many draws take the place
// of quadrature, or fewer nodes, and chains are left out that would read more than kMostChainWork numbers.
// `method` asks for them.
#pragma once

#include <functional>
#include <string>

#include "model/energy/density_file.h"
#include "model/energy/energy.h"
#include "normalizer/log_z_estimate.h"

namespace selfnorm {

class OptionTable;

struct DensityEvaluationOptions {
  std::string method = "auto";   // auto | quadrature | enumeration | importance | annealed | bridge
  uint64_t samples = 100'000;    // importance
  double least_effective = 100;  // importance, annealed: with fewer effective samples the number is refused
  double precision = 1e-3;       // of log Z by quadrature; 1e-7 .. 1
  uint64_t seed = 0;
  std::function<void(const std::string&)> say = {};  // hears what is tried

  void validate() const;  // throws Error naming the option, the value and the range
};
OptionTable log_z_option_table(DensityEvaluationOptions& options);

// Numbers that one evaluation of the score and the proposal reads: what it costs, whatever the machine.
double evaluation_cost(const DensityModel& model);
// That many numbers are read in a second or two.
inline constexpr double kAffordableWork = 1e10;
inline constexpr double kMostChainWork = 10 * kAffordableWork;

struct JudgedLogZ {
  LogZEstimate estimate;
  std::string distrust;  // why it is not to be trusted and what to do; empty: it is
};

// Of an autoregressive energy, whose rows have integrals of their own (normalizer/quadrature/line_sum.h):
// with them log Z is 0, and the error is theirs.
LogZEstimate lines_estimate(double error);

JudgedLogZ judged_log_z(const DensityModel& model, const DensityEvaluationOptions& options);

// Why a log Z is not to be trusted, and what can be done about it where the model and the method allow it.

// importance, annealed: too few effective samples; importance: a heavy tail of weights
// (normalizer/sampling/importance_log_z.h); all: an interval wider than 1 nat. Empty: nothing of that.
std::string log_z_doubt(const LogZEstimate& z, const Energy& energy, double least_effective);

// Two intervals that exclude each other: the values differ by more than 0.01 nat and more than the error of
// the one and twice that of the other, which is drawn. Empty: they do not.
std::string log_z_contradiction(const LogZEstimate& computed, const LogZEstimate& drawn);

}  // namespace selfnorm
