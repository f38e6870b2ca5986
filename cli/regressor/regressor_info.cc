#include <cmath>
#include <filesystem>

#include "commands.h"
#include "density/density_model.h"
#include "regressor/regressor_data.h"

namespace selfnorm::cli {
namespace {

using Json = nlohmann::ordered_json;

// In the units of the data; infinite ones as text, since JSON has none.
Json bounds(const Regressor& model, const std::vector<double>& standardised) {
  Json out = Json::array();
  for (size_t j = 0; j < standardised.size(); ++j) {
    const double bound = model.target_mean[j] + model.target_scale[j] * standardised[j];
    if (std::isfinite(bound))
      out.push_back(bound);
    else
      out.push_back(bound < 0 ? "-inf" : "inf");
  }
  return out;
}

Json widths_of(const DenseNetwork* network) {
  return network == nullptr ? Json() : Json(network->shape().widths);
}

}  // namespace

Json regressor_info(const Arguments& arguments) {
  auto [path, model] = open_regressor(arguments.info_model, EmbeddedCode::seal);
  size_t parameters = 0;
  for (RegressorNetworks& member : model.members)
    for (const std::span<float> part : member.parameters()) parameters += part.size();
  const RegressorNetworks& first = model.members.front();
  const EnergyRecord features = first.features->record();
  Json info = {
      {"path", path},
      {"bytes", std::filesystem::file_size(path)},
      {"family", "regressor"},
      {"targets", model.targets},
      {"target_mean", model.target_mean},
      {"target_scale", model.target_scale},
      {"columns", model.encoder.columns()},
      {"inputs",
       {{"numeric", model.encoder.numeric_inputs()}, {"categorical", model.encoder.levels().size()}}},
      {"ensemble", model.members.size()},
      {"parameters", parameters},
      {"features", {{"kind", features.kind}, {"settings", Json::parse(features.settings)}}},
      {"components", model.mixture.components}};
  if (!features.module.empty()) {
    info["parameters"] = nullptr;  // most are in the module
    info["module"] = module_info(features);
  }
  if (!model.mixture.lower.empty()) {
    info["lower"] = bounds(model, model.mixture.lower);
    info["upper"] = bounds(model, model.mixture.upper);
  }
  if (first.tilt != nullptr) {
    info["tilt"] = Json::parse(first.tilt->record().settings);
    info["own_features"] = first.tilt_features != nullptr;
    info["base"] = model.has_base ? "proposal" : "broad";
    info["tail_weight"] = model.tail_weight;
    info["normalizer"] = {{"kind", model.normalizer_kind}, {"widths", widths_of(first.normalizer.get())}};
  } else {
    info["tilt"] = nullptr;
    info["tail_weight"] = model.tail_weight;
  }
  info["objective"] = Json::parse(model.objective_json);
  info["training"] = Json::parse(model.training_json);
  info["audit"] = Json::parse(model.audit_json);
  return info;
}

}  // namespace selfnorm::cli
