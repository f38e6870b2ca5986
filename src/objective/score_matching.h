// Score matching: objectives of the derivatives of s alone, in which log Z does not appear (theory.md 3 has
// no formula; Hyvarinen 2005, Song et al. 2020, Vincent 2011).
//
// sm, ssm. Along a direction v, with first = v . ds/dx and second = v' (d2s/dx2) v, minimise
//     second + first^2 / 2,      d/d first = first,   d/d second = 1,
// summed over the axes (sm: the exact trace) or averaged over random v ~ N(0, I) (ssm). Up to a constant the
// expectation is the Fisher divergence E |ds/dx - d log p/dx|^2 / 2.
//
// dsm. With x = x_0 + sigma e, e ~ N(0, I), minimise
//     |sigma ds/dx + e|^2 / 2,   d/d(ds/dx) = sigma (sigma ds/dx + e),
// whose optimum is the data smoothed by N(0, sigma^2 I), not the data.
#pragma once

#include <span>
#include <vector>

#include "data/points/points.h"
#include "math/random.h"

namespace selfnorm {

struct ObjectiveEntry;
enum class ScoreMatching;  // sm, ssm, dsm (objective/registry.h)

struct DirectionTerms {
  double loss = 0;
  double d_first = 0, d_second = 0;
};
DirectionTerms match_along_direction(double first, double second);

// Returns the loss; `d` receives the derivative with respect to the gradient ds/dx.
double match_denoised(std::span<const float> gradient, std::span<const float> noise, double sigma,
                      std::span<float> d);

// s of the rows of a minibatch, as a function of them and of parameters.
class MatchedScore {
 public:
  virtual ~MatchedScore() = default;
  virtual void slope(const Points& x, std::span<float> dx) = 0;  // ds/dx, row-major
  // The first two derivatives along v, and back to the parameters; d_second may be empty.
  virtual void directional(const Points& x, const Points& v, std::span<double> first,
                           std::span<double> second) = 0;
  virtual void backward(const Points& x, const Points& v, std::span<const double> d_first,
                        std::span<const double> d_second) = 0;
};

// The mean loss of a minibatch, and back to the parameters.
class ScoreMatcher {
 public:
  // noise: sigma of dsm; slices: random directions of ssm.
  ScoreMatcher(ScoreMatching kind, double noise, uint64_t slices = 1)
      : kind_(kind), noise_(noise), slices_(slices) {}

  double operator()(const Points& batch, RandomStream random, MatchedScore& score);

 private:
  double along(const Points& batch, double share, MatchedScore& score);  // direction_
  double denoised(const Points& batch, RandomStream& random, MatchedScore& score);

  ScoreMatching kind_;
  double noise_;
  uint64_t slices_;
  std::vector<float> direction_, noise_drawn_, noisy_, slope_;
  std::vector<double> first_, second_;
};

// In the registry: dsm, ssm and sm.
ObjectiveEntry denoising_entry();
ObjectiveEntry sliced_entry();
ObjectiveEntry matching_entry();

}  // namespace selfnorm
