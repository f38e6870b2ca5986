#include "selfnorm/train/density_record.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "selfnorm/engine/checkpoint.h"

namespace selfnorm {
namespace {

// A file by its name alone: a run resumes from any folder, and its model is the same.
nlohmann::ordered_json options_json(const DensityOptions& o) {
  const bool is_file = o.energy.ends_with(".pt");
  return {{"energy", is_file ? std::filesystem::path(o.energy).filename().string() : o.energy},
          {"activation", o.mlp.activation},
          {"residual", o.mlp.residual},
          {"spectral_norm", o.mlp.spectral_norm},
          {"fourier", o.fourier},
          {"fourier_scale", o.mlp.fourier_scale},
          {"base", o.base},
          {"proposal", o.proposal},
          {"defensive", o.fit.defensive},
          {"defensive_scale", o.fit.defensive_scale},
          {"proposal_scale", o.fit.scale},
          {"learn_proposal", o.learn_proposal},
          {"steps", o.steps},
          {"batch", o.batch},
          {"learning_rate", o.learning_rate},
          {"normalizer_rate", o.normalizer_rate},
          {"normalizer_steps", o.normalizer_steps},
          {"schedule", o.schedule},
          {"clip", o.clip},
          {"weight_decay", o.weight_decay},
          {"drift", o.drift},
          {"patience", o.patience},
          {"calibrate", o.calibrate},
          {"standardise", o.standardise},
          {"space", o.space},
          {"lower", o.lower},
          {"upper", o.upper},
          {"seed", o.seed}};
}

}  // namespace

std::string density_objective_json(const DensityOptions& o) {
  nlohmann::ordered_json out = {{"name", o.objective}, {"samples", o.samples}, {"normalizer", o.normalizer}};
  if (o.objective == "cd" || o.objective == "pcd")
    out.update({{"langevin_steps", o.langevin_steps}, {"langevin_step", o.langevin_step}});
  if (o.objective == "dsm") out["noise"] = o.noise;
  if (o.objective == "ssm") out["slices"] = o.slices;
  return out.dump();
}

std::string density_training_json(const DensityOptions& options, const std::string& reason, uint64_t rows,
                                  const Progress& last) {
  nlohmann::ordered_json out = options_json(options);
  if (options.optimiser != "auto" && options.optimiser != "adam") out["optimiser"] = options.optimiser;
  out.update({{"rows", rows}, {"steps_taken", last.step}, {"reason", reason}});
  return out.dump();
}

std::string density_fingerprint(const PointSource& data, std::span<const uint64_t> train_rows,
                                std::span<const uint64_t> valid_rows, const DensityOptions& options) {
  nlohmann::ordered_json all = options_json(options);
  all.update({{"objective", options.objective},
              {"samples", options.samples},
              {"normalizer", options.normalizer},
              {"optimiser", options.optimiser},
              {"langevin_steps", options.langevin_steps},
              {"langevin_step", options.langevin_step},
              {"noise", options.noise},
              {"slices", options.slices}});
  Fingerprint hash;
  hash.add(all.dump()).add(train_rows).add(valid_rows).add(data.fingerprint());
  if (options.energy.ends_with(".pt")) hash.add_file(options.energy);
  return hash.text();
}

}  // namespace selfnorm
