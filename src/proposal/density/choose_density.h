// A simple density for data, the best of a few on held-out rows, or several of them stacked (stacked.h) where
// that gains more than 0.002 nats there: what `--proposal auto` means.
//   levels  a product; mixtures of products and of trees, with 4 times the components as long as that gains;
//           autoregressive networks
//   counts  a product of negative binomials; mixtures of products
//   real    Gaussian mixtures, with twice the components as long as that gains; from 3 columns on
//           kernels (up to 16 columns) and autoregressive networks; in a box all of them cut off at its
//           walls (truncated.h), and the uniform distribution where every end is finite
//   angles, sphere  mixtures of directions, with twice the components as long as that gains; kernels of five
//           concentrations, and of those that follow how close rows lie; angles: autoregressive networks
//   mixed   mixtures of products of the columns, with twice the components as long as that gains; both
//           kinds of kernels; autoregressive networks
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "proposal/density/make_density.h"

namespace selfnorm {

struct TriedDensity {
  std::string word;  // "products:64"
  double nll = 0;    // mean on the held-out rows
};

struct DensityChoice {
  std::unique_ptr<Density> density;
  std::string word;                 // of the density; "stacked"
  double nll = 0;                   // as above
  std::vector<TriedDensity> tried;  // without the stack; the best first
  std::string text;                 // one line: what was taken, and how it compares
};

struct ChoiceOptions {
  enum class Effort {
    learnable,  // products, Gaussians and Gaussian mixtures
    quick,      // and mixtures of products, one of them all
    full
  };
  Effort effort = Effort::full;
  FitOptions fit = {};
  double log_volume = 0;   // added to what the text says of likelihoods: that of the units of the data
  bool is_smooth = false;  // only densities with second derivatives in x
  std::function<void(const std::string&)> say = {};  // one line for each density that was tried
};

// Rows of options.fit.space. Held-out rows outside of it have no say; without any, a tenth of the data are
// held out, at most 4,000.
DensityChoice choose_density(const Points& data, const Points& held_out, const ChoiceOptions& options);

}  // namespace selfnorm
