#include "family/regressor/train/regressor_record.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/checkpoint.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

// The module by its name alone: a run resumes from any folder, and its model is the same.
nlohmann::ordered_json options_json(RegressorOptions o) {
  o.module = std::filesystem::path(o.module).filename().string();
  return option_record(regressor_option_table(o));
}

}  // namespace

std::string regressor_objective_json(const RegressorOptions& options) {
  RegressorOptions o = options;
  return objective_options("regressor", o.objective, regressor_option_table(o)).dump();
}

std::string regressor_training_json(const RegressorOptions& options, const std::string& reason, uint64_t rows,
                                    uint64_t steps) {
  nlohmann::ordered_json out = options_json(options);
  out.update({{"rows", rows}, {"steps_taken", steps}, {"reason", reason}});
  return out.dump();
}

std::string regressor_fingerprint(const Frame& frame, const std::vector<std::string>& targets,
                                  std::span<const uint64_t> train_rows, std::span<const uint64_t> valid_rows,
                                  const RegressorOptions& options) {
  nlohmann::ordered_json all = options_json(options);
  all["targets"] = targets;
  Fingerprint hash;
  hash.add(all.dump()).add(train_rows).add(valid_rows);
  if (!options.module.empty()) hash.add_file(options.module);
  for (const FrameColumn& column : frame.columns) {
    hash.add(column.name).add(column.number).add(column.level);
    for (const std::string& level : column.levels) hash.add(level);
  }
  return hash.text();
}

}  // namespace selfnorm
