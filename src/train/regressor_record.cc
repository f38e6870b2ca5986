#include "selfnorm/train/regressor_record.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "selfnorm/engine/checkpoint.h"

namespace selfnorm {
namespace {

// The module by its name alone: a run resumes from any folder, and its model is the same.
nlohmann::ordered_json options_json(const RegressorOptions& o) {
  return {{"features", o.features},
          {"joint", o.joint},
          {"normalizer", o.normalizer},
          {"activation", o.activation},
          {"own_features", o.own_features},
          {"module", std::filesystem::path(o.module).filename().string()},
          {"components", o.components},
          {"shared_scale", o.shared_scale},
          {"base", o.base},
          {"tail_weight", o.tail_weight},
          {"least_scale", o.least_scale},
          {"noise_floor", o.noise_floor},
          {"input_noise", o.input_noise},
          {"defence", o.defence},
          {"learn_proposal", o.learn_proposal},
          {"epochs", o.epochs},
          {"batch", o.batch},
          {"warm_up", o.warm_up},
          {"learning_rate", o.learning_rate},
          {"normalizer_rate", o.normalizer_rate},
          {"schedule", o.schedule},
          {"weight_decay", o.weight_decay},
          {"average", o.average},
          {"clip", o.clip},
          {"ramp", o.ramp},
          {"checks", o.checks},
          {"patience", o.patience},
          {"ensemble", o.ensemble},
          {"calibrate", o.calibrate},
          {"lower", o.lower},
          {"upper", o.upper},
          {"seed", o.seed}};
}

}  // namespace

std::string regressor_objective_json(const RegressorOptions& o) {
  nlohmann::ordered_json out = {{"name", o.objective}};
  if (o.objective == "mcmc")
    out.update({{"langevin_steps", o.langevin_steps}, {"langevin_step", o.langevin_step}});
  else if (o.objective != "mdn" && o.objective != "sm" && o.objective != "dsm")
    out["samples"] = o.samples;
  if (o.objective == "dsm" || o.objective == "nce+" || o.objective == "kld-is") out["noise"] = o.noise;
  return out.dump();
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
  all.update({{"objective", options.objective},
              {"samples", options.samples},
              {"langevin_steps", options.langevin_steps},
              {"langevin_step", options.langevin_step},
              {"noise", options.noise},
              {"targets", targets}});
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
