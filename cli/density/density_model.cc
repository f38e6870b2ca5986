#include "density/density_model.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "classifier/model_header.h"
#include "commands.h"
#include "data/string_index.h"
#include "family/density/train/density_trainer.h"
#include "output.h"

namespace selfnorm::cli {
namespace {

const char* space_name(Support::Space space) {
  constexpr const char* names[] = {"real", "levels", "counts", "mixed"};
  return names[static_cast<size_t>(space)];
}

Json kind_of(const std::shared_ptr<const Density>& density) {
  return density == nullptr ? Json() : Json(density->record().kind);
}

constexpr double kLargestWritten = 1e9;  // in full

std::string decimal_or_power(double value) {
  return std::abs(value) < kLargestWritten ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
}

bool has_interval(const LogZEstimate& z) { return z.low < z.high; }
bool is_sampled(const LogZEstimate& z) {
  return z.method == "importance" || z.method == "annealed" || z.method == "bridge";
}

}  // namespace

NamedDensity open_density(const std::string& model, EmbeddedCode code) {
  const std::string path = finished_model_path(model);
  return {path, load_density(path, code)};
}

std::string normalizer_doubt(const DensityModel& model) {
  const auto audit = Json::parse(model.audit_json);
  const bool is_doubted = audit.is_object() && audit.contains("trusted") && audit["trusted"] == false;
  if (model.normalizer_kind != "untrusted" && !is_doubted) return "";
  return "b is not to be trusted: log Z could not be estimated when the model was trained, so log-densities "
         "with b are right up to a constant only";
}

std::string interval_doubt(uint64_t rows) {
  return fmt::format(
      "the masses of {} rows with several intervals rest on a few of their draws, and may be further off "
      "than is "
      "said",
      grouped(rows));
}

Json module_info(const EnergyRecord& record) {
  return {{"kind", "TorchScript program"}, {"bytes", record.module.size()}, {"loaded", false}};
}

Json density_info(const Arguments& arguments) {
  const auto [path, model] = open_density(arguments.info_model, EmbeddedCode::seal);
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
  if (!model.geometry.is_plain()) info["geometry"] = Json::parse(model.geometry.json());
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
          .array = arguments.points.array,
          .categorical = arguments.points.categorical};
}

std::unique_ptr<PointSource> open_points_for(const DensityModel& model, const std::string& path,
                                             PointOptions options) {
  options.names = model.feature_names;
  options.columns = model.columns();
  options.known = model.geometry.categories;
  return directed_points(open_points(path, options), model.geometry);
}

std::unique_ptr<PointSource> open_points_for(const DensityModel& model, const std::string& path,
                                             const Arguments& arguments) {
  return open_points_for(model, path, point_options(arguments));
}

Json points_record(const std::string& path, const PointSource& points) {
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
  refuse_steps_of_fit(o, columns);
  arguments.require(
      {"--checkpoint-seconds"}, !fits_family(o, columns), "--optimiser adam",
      fmt::format("--optimiser {}, by which --energy {} is fitted at once", o.optimiser, o.energy));
}

std::vector<std::string> idle_options(const Arguments& arguments, const DensityModel& model) {
  std::vector<std::string> idle;
  const Support support = model.energy->support();
  if (!support.is_real() && !support.is_mixed())
    for (const char* option : {"--langevin-step", "--no-standardise"})
      if (arguments.has(option))
        idle.push_back(fmt::format("{} did nothing: the data are whole numbers", option));
  if (arguments.has("--fourier-scale")) {
    const auto settings = nlohmann::json::parse(model.energy->record().settings);
    if (settings.value("fourier", 0) == 0)
      idle.push_back(
          "--fourier-scale did nothing: --fourier auto gives data like these no Fourier features; say how "
          "many");
  }
  return idle;
}

Json log_z_json(const LogZEstimate& z) {
  const auto where = [](bool exists, double value) { return exists ? Json(value) : Json(); };
  Json out = {{"method", z.method}, {"value", z.value}, {"low", z.low}, {"high", z.high}};
  out["ess"] = where(is_sampled(z), z.effective);
  out["tail"] = where(z.method == "importance", z.tail);
  out["evaluations"] = z.evaluations;
  return out;
}

Json density_json(const DensityEvaluation& e) {
  const auto trusted = [&e](double value) { return e.is_trusted ? Json(value) : Json(); };
  Json out = {{"rows", e.rows},
              {"outside", e.outside},
              {"log_z", log_z_json(e.log_z)},
              {"b", e.b},
              {"nll", trusted(e.nll)},
              {"nll_low", trusted(e.nll_low)},
              {"nll_high", trusted(e.nll_high)},
              {"nll_error", e.nll_error},
              {"nll_b", e.nll_b},
              {"snl_bound", trusted(e.snl_bound)},
              {"log_ratio", trusted(e.log_ratio)},
              {"trusted", e.is_trusted}};
  if (e.rms != std::abs(e.log_ratio)) out["rms"] = trusted(e.rms);
  if (!e.is_trusted) out["distrust"] = e.distrust;
  if (e.intervals > 0)
    out["intervals"] = {
        {"rows", e.intervals}, {"doubtful", e.doubtful_intervals}, {"nll_error", e.interval_error}};
  return out;
}

std::string density_table(const std::vector<DensityRow>& rows) {
  std::vector<std::vector<std::string>> cells{{"model", "rows", "NLL", "+-", "NLL by interval", "SNL bound",
                                               "NLL with b", "b", "b - log Z", "log Z", "interval", "method",
                                               "ESS"}};
  std::string reasons;
  for (const DensityRow& row : rows) {
    const auto& [name, evaluation, normalizer_doubt] = row;
    const DensityEvaluation& e = evaluation;  // what lambdas can capture
    const auto trusted = [&e](double value) { return e.is_trusted ? decimal_or_power(value) : "-"; };
    const auto interval = [&e](bool is_shown, double low, double high) {
      return is_shown && has_interval(e.log_z)
                 ? fmt::format("[{}, {}]", decimal_or_power(low), decimal_or_power(high))
                 : "-";
    };
    cells.push_back({name, grouped(e.rows), trusted(e.nll), decimal_or_power(e.nll_error),
                     interval(e.is_trusted, e.nll_low, e.nll_high), trusted(e.snl_bound),
                     decimal_or_power(e.nll_b), decimal_or_power(e.b),
                     e.rms == std::abs(e.log_ratio)
                         ? trusted(-e.log_ratio)
                         : fmt::format("{} (rms {})", trusted(-e.log_ratio), trusted(e.rms)),
                     trusted(e.log_z.value), interval(true, e.log_z.low, e.log_z.high), e.log_z.method,
                     is_sampled(e.log_z) ? fmt::format("{:.1f}", e.log_z.effective) : "-"});
    if (e.intervals > 0)
      reasons += fmt::format(
          "{}: {} rows have intervals, whose masses are known to +-{:.2g} of NLL (95%) or better\n", name,
          grouped(e.intervals), e.interval_error);
    if (e.doubtful_intervals > 0)
      reasons += fmt::format("{}: {}\n", name, interval_doubt(e.doubtful_intervals));
    if (!e.is_trusted) reasons += fmt::format("{}: no likelihood: {}\n", name, e.distrust);
    if (!normalizer_doubt.empty()) reasons += fmt::format("{}: {}\n", name, normalizer_doubt);
  }
  return aligned(cells) + reasons;
}

}  // namespace selfnorm::cli
