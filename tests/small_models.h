// Density models around energies with closed forms.
#pragma once

#include <memory>

#include "model/energy/density_file.h"
#include "small_energies.h"

namespace selfnorm {

inline DensityModel small_model(SmallEnergy energy, std::shared_ptr<const Density> proposal, double b = 0) {
  DensityModel model;
  model.energy = std::make_unique<SmallEnergy>(std::move(energy));
  model.proposal = std::move(proposal);
  model.log_normalizer = b;
  model.normalizer_kind = "learned";
  return model;
}

}  // namespace selfnorm
