#include "selfnorm/train/density_record.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "selfnorm/data/string_index.h"
#include "selfnorm/train/run_description.h"

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

std::string density_fingerprint(const PointSource& data, const DensityOptions& options) {
  return fmt::format("{:016x}", hash_bytes(data.fingerprint() + options_json(options).dump()));
}

}  // namespace selfnorm
