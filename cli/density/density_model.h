// MODEL where it may be a density, and the points that its commands read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/points/point_source.h"
#include "family/density/density_evaluation.h"
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

// Of rows with intervals whose masses may be further off than their errors say.
std::string interval_doubt(uint64_t rows);

// {"kind", "bytes", "loaded": false} of the module in a record.
Json module_info(const EnergyRecord& record);

// What the words of the command line say.
PointOptions point_options(const Arguments& arguments);
// Points of the model's columns.
std::unique_ptr<PointSource> open_points_for(const DensityModel& model, const std::string& path,
                                             const Arguments& arguments);
std::unique_ptr<PointSource> open_points_for(const DensityModel& model, const std::string& path,
                                             PointOptions options);

// {"path", "rows", "columns", "hash"} of config.json.
Json points_record(const std::string& path, const PointSource& points);

// Options of `train density` that do nothing with the rest of what was given: an error that names the option,
// what it belongs to and what was found.
void check_applicability(const Arguments& arguments);
// The same for options of steps when a family over so many columns is fitted without any
// (family/density/train/density_trainer.h).
void check_step_applicability(const Arguments& arguments, uint32_t columns);
// A sentence for every option that did nothing because of what the data are.
std::vector<std::string> idle_options(const Arguments& arguments, const DensityModel& model);

// An evaluation as JSON and as a row of a table, for `evaluate` and for the end of `train density`.
Json log_z_json(const LogZEstimate& estimate);
// Likelihoods that are not to be trusted are null.
Json density_json(const DensityEvaluation& evaluation);

struct DensityRow {
  std::string name;
  DensityEvaluation evaluation;
  std::string normalizer_doubt;
};

// One line per model, and a line why for every number of it that is not trusted.
std::string density_table(const std::vector<DensityRow>& rows);

}  // namespace selfnorm::cli
