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

namespace selfnorm {

struct ObjectiveEntry;

struct DirectionTerms {
  double loss = 0;
  double d_first = 0, d_second = 0;
};
DirectionTerms match_along_direction(double first, double second);

// Returns the loss; `d` receives the derivative with respect to the gradient ds/dx.
double match_denoised(std::span<const float> gradient, std::span<const float> noise, double sigma,
                      std::span<float> d);

// In the registry: dsm, ssm and sm.
ObjectiveEntry denoising_entry();
ObjectiveEntry sliced_entry();
ObjectiveEntry matching_entry();

}  // namespace selfnorm
