#include "density/density_model.h"

#include <fmt/format.h>

#include <filesystem>

#include "classifier/model_header.h"
#include "commands.h"
#include "data/string_index.h"
#include "family/density/exponential/family_training.h"
#include "grammar/applicability.h"

namespace selfnorm::cli {
namespace {

const char* space_name(Support::Space space) {
  constexpr const char* names[] = {"real", "levels", "counts"};
  return names[static_cast<size_t>(space)];
}

nlohmann::ordered_json kind_of(const std::shared_ptr<const Density>& density) {
  return density == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(density->record().kind);
}

}  // namespace

NamedDensity open_density(const std::string& model, EmbeddedCode code) {
  const std::string path = finished_model_path(model);
  return {path, load_density(path, code)};
}

std::string normalizer_doubt(const DensityModel& model) {
  const auto audit = nlohmann::ordered_json::parse(model.audit_json);
  const bool is_doubted = audit.is_object() && audit.contains("trusted") && audit["trusted"] == false;
  if (model.normalizer_kind != "untrusted" && !is_doubted) return "";
  return "b is not to be trusted: log Z could not be estimated when the model was trained, so log-densities "
         "with b are right up to a constant only";
}

nlohmann::ordered_json module_info(const EnergyRecord& record) {
  return {{"kind", "TorchScript program"}, {"bytes", record.module.size()}, {"loaded", false}};
}

nlohmann::ordered_json density_info(const Arguments& arguments) {
  const auto [path, model] = open_density(arguments.info_model, EmbeddedCode::seal);
  using Json = nlohmann::ordered_json;
  const EnergyRecord record = model.energy->record();
  Json info = {{"path", path},
               {"bytes", std::filesystem::file_size(path)},
               {"family", "density"},
               {"dimension", model.dimension()},
               {"space", space_name(model.energy->support().space)},
               {"energy", {{"kind", record.kind}, {"settings", Json::parse(record.settings)}}},
               {"parameters", std::as_const(*model.energy).parameters().size()},
               {"proposal", kind_of(model.proposal)},
               {"base", kind_of(model.base)},
               {"log_normalizer", model.log_normalizer},
               {"normalizer", model.normalizer_kind},
               {"standardised", !model.standardisation.mean.empty()}};
  if (!record.module.empty()) {
    info["parameters"] = nullptr;  // in the module
    info["module"] = module_info(record);
  }
  if (const std::string doubt = normalizer_doubt(model); !doubt.empty()) info["normalizer_doubt"] = doubt;
  if (!model.feature_names.empty()) info["columns"] = model.feature_names;
  info["objective"] = Json::parse(model.objective_json);
  info["training"] = Json::parse(model.training_json);
  info["audit"] = Json::parse(model.audit_json);
  return info;
}

PointOptions point_options(const Arguments& arguments) {
  return {.format = arguments.reader.options.format,
          .header = arguments.reader.options.header,
          .drop = arguments.points.drop,
          .names = {},
          .columns = 0,
          .array = arguments.points.array};
}

std::unique_ptr<PointSource> open_points_for(const DensityModel& model, const std::string& path,
                                             const Arguments& arguments) {
  PointOptions options = point_options(arguments);
  options.names = model.feature_names;
  options.columns = model.dimension();
  return open_points(path, options);
}

nlohmann::ordered_json points_record(const std::string& path, const PointSource& points) {
  std::string marks = points.fingerprint();
  for (const std::string& name : points.names()) marks += name + "\n";
  return {{"path", path},
          {"rows", points.rows()},
          {"columns", points.columns()},
          {"hash", fmt::format("{:016x}", hash_bytes(marks))}};
}

void check_applicability(const Arguments& arguments) {
  DensityOptions given = arguments.density.options, initial;
  density_option_table(given).refuse_idle(density_option_table(initial));
}

void check_step_applicability(const Arguments& arguments, uint32_t columns) {
  const DensityOptions& o = arguments.density.options;
  Applicability(arguments).require(
      {"--steps", "--batch", "--learning-rate", "--schedule", "--clip", "--patience", "--samples",
       "--normalizer-rate", "--normalizer-steps", "--drift", "--no-calibrate", "--checkpoint-seconds"},
      !fits_family(o, columns), "--optimiser adam",
      fmt::format("--optimiser {}, by which --energy {} is fitted at once", o.optimiser, o.energy));
}

std::vector<std::string> idle_options(const Arguments& arguments, const DensityModel& model) {
  const Applicability rules(arguments);
  std::vector<std::string> idle;
  if (!model.energy->support().is_real())
    for (const char* option : {"--langevin-step", "--no-standardise"})
      if (rules.has(option))
        idle.push_back(fmt::format("{} did nothing: the data are whole numbers", option));
  if (rules.has("--fourier-scale")) {
    const auto settings = nlohmann::json::parse(model.energy->record().settings);
    if (settings.value("fourier", 0) == 0)
      idle.push_back(
          "--fourier-scale did nothing: --fourier auto gives data like these no Fourier features; say how "
          "many");
  }
  return idle;
}

}  // namespace selfnorm::cli
