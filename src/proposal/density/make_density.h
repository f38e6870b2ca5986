// Densities by name, fitted to data.
//   uniform              the box of the data, widened
//   gaussian[:diagonal]  full covariance, or diagonal
//   student-t[:dof]      full covariance; 4 degrees of freedom
//   mixture[:components] Gaussian mixture by EM (32), full covariances, with a broad defensive component
//   kde[:bandwidth]      Gaussian kernels on (a sample of) the data; bandwidth by Scott's rule times a factor
//                        chosen on held-out data
//   bernoulli            product of Bernoullis, smoothed
//   categorical          product of categoricals, smoothed
//   counts               product of negative binomials
//   products[:components] mixture of products of levels or counts, or of both levels and real numbers, by EM
//                        (16)
//   trees[:components]   mixture of Chow-Liu trees over levels by EM (1)
//   autoregressive[:width] masked network of two layers (256), over real numbers, levels or both
//   directions[:components] mixture of von Mises products or von Mises-Fisher distributions by EM (16):
//                        angles and the sphere
//   kernels[:concentration] von Mises or von Mises-Fisher kernels on (a sample of) the data, likewise
//   neighbours[:k]       such kernels, narrow where the k-th nearest row is close (12)
//   stacked              what choose_density.h finds, restored only
//   truncated            one of the above over real numbers, cut off at the box of FitOptions::space,
//   restored
//                        only
// A new one is a header, a source and a line in make_density.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "proposal/density/density.h"

namespace selfnorm {

struct FitOptions {
  double defensive = 0.05;       // mixture: share of the broad component; in [0, 0.5]; 0: none
  double defensive_scale = 2.0;  // mixture: its standard deviations, in those of the data; > 0
  double scale = 1;              // gaussian: multiplies its standard deviations after the fit; > 0
  Support space = {};            // of the data, where it is not all of R^d; levels of columns the data miss
  uint64_t seed = 0;
};

std::vector<std::string> density_names();  // without their arguments
// Throws Error for a word that is none of them or an argument out of range, before any data are read.
void check_density_word(const std::string& word);

// Throws Error when the data do not allow it (no rows, values that are not finite, fractions for bernoulli).
// Constant columns get a small scale, never 0.
std::unique_ptr<Density> fit_density(const std::string& word, const Points& data,
                                     const FitOptions& options = {});

// From its record. Throws Error when the record is damaged.
std::unique_ptr<Density> make_density(const DensityRecord& record, uint32_t dimension);

}  // namespace selfnorm
