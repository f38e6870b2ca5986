// The points that the commands of densities read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/points/point_source.h"
#include "grammar/arguments.h"
#include "model/energy/density_file.h"

namespace selfnorm::cli {

// What the words of the command line say.
PointOptions point_options(const Arguments& arguments);
// Points of the model's columns.
std::unique_ptr<PointSource> open_points_for(const DensityModel& model, const std::string& path,
                                             const Arguments& arguments);

// {"path", "rows", "columns", "hash"} of config.json.
nlohmann::ordered_json points_record(const std::string& path, const PointSource& points);

}  // namespace selfnorm::cli
