// MODEL where it may be a density.
#pragma once

#include <string>

#include "arguments.h"
#include "selfnorm/model/energy/density_file.h"

namespace selfnorm::cli {

// Whether MODEL, a file or run directory, is a density. Throws Error for a run that is not finished.
bool is_density(const std::string& model);

struct NamedDensity {
  std::string path;  // of the file itself
  DensityModel model;
};
// Throws Error for any other model.
NamedDensity open_density(const std::string& model, EmbeddedCode code);

// Throws Error with the advice when MODEL is a density, for the commands that take none.
void refuse_density(const std::string& model, const std::string& advice);

// Why log-densities with b are not to be used, where training could not estimate log Z; otherwise empty.
std::string normalizer_doubt(const DensityModel& model);

// Without loading a module.
nlohmann::ordered_json density_info(const std::string& model);
// {"kind", "bytes", "loaded": false} of the module in a record.
nlohmann::ordered_json module_info(const EnergyRecord& record);

}  // namespace selfnorm::cli
