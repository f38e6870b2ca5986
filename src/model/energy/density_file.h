// The model file of a density: safetensors, family "density" in the metadata. In the units of the data,
//     log p(x) = s(u) - b - sum_j log scale_j,   u = (x - mean) / scale,   s = energy [+ log base].
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/points/point_geometry.h"
#include "model/energy/energy.h"
#include "proposal/density/density.h"

namespace selfnorm {

// Learned on the training rows only.
struct Standardisation {
  std::vector<double> mean, scale;  // scale > 0; both empty: none

  void apply(const Points& x, std::span<float> u) const;
  void undo(const Points& u, std::span<float> x) const;
  double log_volume() const;  // sum_j log scale_j
};

struct DensityModel {
  std::unique_ptr<Energy> energy;           // on standardised points; a TiltedEnergy when there is a base
  std::shared_ptr<const Density> proposal;  // on standardised points; every density has one
  std::shared_ptr<const Density> base;      // what the energy tilts, often the proposal itself; null: nothing
  double log_normalizer = 0;                // b
  std::string normalizer_kind;  // how b came about: learned | zero | estimated | exact | untrusted
  Standardisation standardisation;
  PointGeometry geometry;                  // how the rows of the data become points
  std::vector<std::string> feature_names;  // may be empty
  std::string objective_json = "{}", training_json = "{}", audit_json = "{}";

  uint32_t dimension() const { return energy->dimension(); }
  uint32_t columns() const { return geometry.columns(dimension()); }  // of the data
};

void save_density(const DensityModel& model, const std::string& path);  // whole or not at all
// Throws Error naming the file. `code`: what becomes of a module in it.
DensityModel load_density(const std::string& path, EmbeddedCode code = EmbeddedCode::refuse);

}  // namespace selfnorm
