// MODEL where it may be a density, and the points that its commands read.
#pragma once

#include <memory>
#include <string>

#include "data/points/point_source.h"
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

// {"kind", "bytes", "loaded": false} of the module in a record.
nlohmann::ordered_json module_info(const EnergyRecord& record);

// What the words of the command line say.
PointOptions point_options(const Arguments& arguments);
// Points of the model's columns.
std::unique_ptr<PointSource> open_points_for(const DensityModel& model, const std::string& path,
                                             const Arguments& arguments);

// {"path", "rows", "columns", "hash"} of config.json.
nlohmann::ordered_json points_record(const std::string& path, const PointSource& points);

}  // namespace selfnorm::cli
