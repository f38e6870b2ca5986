// MODEL where it may be a density.
#pragma once

#include <string>

#include "grammar/arguments.h"
#include "model/energy/density_file.h"

namespace selfnorm::cli {

struct NamedDensity {
  std::string path;  // of the file itself
  DensityModel model;
};
// Of a model of this family; throws Error for what is none.
NamedDensity open_density(const std::string& model, EmbeddedCode code);

// Why log-densities with b are not to be used, where training could not estimate log Z; otherwise empty.
std::string normalizer_doubt(const DensityModel& model);

// Without loading a module.
nlohmann::ordered_json density_info(const std::string& model);
// {"kind", "bytes", "loaded": false} of the module in a record.
nlohmann::ordered_json module_info(const EnergyRecord& record);

}  // namespace selfnorm::cli
