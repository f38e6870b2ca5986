#include "family/density/train/density_record.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/checkpoint.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

// A file by its name alone: a run resumes from any folder, and its model is the same.
nlohmann::ordered_json options_json(DensityOptions o) {
  if (o.energy.ends_with(".pt")) o.energy = std::filesystem::path(o.energy).filename().string();
  return option_record(density_option_table(o));
}

}  // namespace

std::string density_objective_json(const DensityOptions& options) {
  DensityOptions o = options;
  return objective_options("density", o.objective, density_option_table(o)).dump();
}

std::string density_training_json(const DensityOptions& options, const std::string& reason, uint64_t rows,
                                  const Progress& last) {
  nlohmann::ordered_json out = options_json(options);
  out.update({{"rows", rows}, {"steps_taken", last.step}, {"reason", reason}});
  return out.dump();
}

std::string density_fingerprint(const PointSource& data, std::span<const uint64_t> train_rows,
                                std::span<const uint64_t> valid_rows, const DensityOptions& options) {
  Fingerprint hash;
  hash.add(options_json(options).dump()).add(train_rows).add(valid_rows).add(data.fingerprint());
  if (options.energy.ends_with(".pt")) hash.add_file(options.energy);
  return hash.text();
}

}  // namespace selfnorm
