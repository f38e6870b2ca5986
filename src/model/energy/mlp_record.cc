#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "mlp_energy.h"
#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

using Json = nlohmann::json;

[[noreturn]] void damaged(const std::string& what) {
  throw Error("network energy: " + what + "; the model file is damaged or from another program");
}

template <class Value>
Value setting(const Json& json, const char* name) {
  try {
    return json.at(name).get<Value>();
  } catch (const Json::exception& e) {
    damaged(fmt::format("setting '{}' is missing or of the wrong kind", name));
  }
}

Json settings_of(const EnergyRecord& record) {
  if (record.kind != "mlp") damaged(fmt::format("its kind is '{}', expected 'mlp'", record.kind));
  Json json = Json::parse(record.settings, nullptr, false);
  if (!json.is_object()) damaged("its settings are no JSON object");
  return json;
}

uint32_t whole_number(const Json& json, const char* name) {
  const auto value = setting<double>(json, name);
  if (!(value >= 0 && value <= 4294967295.0) || value != std::floor(value))
    damaged(fmt::format("setting '{}' is {}, expected a whole number", name, value));
  return static_cast<uint32_t>(value);
}

MlpOptions options_of(const EnergyRecord& record) {
  const Json json = settings_of(record);
  MlpOptions options;
  options.widths.clear();
  for (const double width : setting<std::vector<double>>(json, "widths")) {
    if (!(width >= 1 && width <= 4096))
      damaged(fmt::format("a layer has width {}, expected 1 to 4096", width));
    options.widths.push_back(static_cast<uint32_t>(width));
  }
  options.activation = setting<std::string>(json, "activation");
  options.residual = setting<bool>(json, "residual");
  options.spectral_norm = setting<bool>(json, "spectral_norm");
  options.fourier = whole_number(json, "fourier");
  options.fourier_scale = setting<double>(json, "fourier_scale");
  options.validate();
  return options;
}

uint32_t dimension_of(const EnergyRecord& record) {
  const uint32_t dimension = whole_number(settings_of(record), "dimension");
  if (dimension < 1) damaged("its dimension is 0");
  return dimension;
}

void read(const EnergyRecord& record, const std::string& name, const std::vector<uint64_t>& shape,
          std::span<float> out) {
  const auto at = std::find_if(record.tensors.begin(), record.tensors.end(),
                               [&](const EnergyTensor& t) { return t.name == name; });
  if (at == record.tensors.end()) damaged(fmt::format("tensor '{}' is missing", name));
  if (at->shape != shape || at->values.size() != out.size())
    damaged(fmt::format("tensor '{}' has {} values in another shape, expected {}", name, at->values.size(),
                        out.size()));
  for (const float v : at->values)
    if (!std::isfinite(v)) damaged(fmt::format("tensor '{}' has a value that is not finite", name));
  std::copy(at->values.begin(), at->values.end(), out.begin());
}

// take(name, shape, place in theta) for every parameter.
template <class Take>
void for_parameters(const MlpShape& shape, const Take& take) {
  if (shape.fourier > 0) take("fourier.weight", std::vector<uint64_t>{shape.fourier, shape.dimension}, 0);
  for (size_t l = 0; l < shape.layers.size(); ++l) {
    const MlpLayer& layer = shape.layers[l];
    take(fmt::format("layer{}.weight", l), std::vector<uint64_t>{layer.out, layer.in}, layer.weight);
    take(fmt::format("layer{}.bias", l), std::vector<uint64_t>{layer.out}, layer.bias);
  }
  take("output.weight", std::vector<uint64_t>{shape.width()}, shape.output);
}

uint64_t elements(const std::vector<uint64_t>& shape) {
  uint64_t n = 1;
  for (const uint64_t s : shape) n *= s;
  return n;
}

// Before memory is allocated for them: a damaged dimension is no reason to run out of it.
MlpShape checked_shape(const EnergyRecord& record) {
  MlpShape shape(dimension_of(record), options_of(record));
  size_t given = 0;
  for (const EnergyTensor& tensor : record.tensors) given += tensor.values.size();
  if (given < shape.parameters)
    damaged(fmt::format("it has {} parameters, expected {}", given, shape.parameters));
  return shape;
}

}  // namespace

MlpEnergy::MlpEnergy(const EnergyRecord& record)
    : options_(options_of(record)),
      shape_(checked_shape(record)),
      theta_(shape_.parameters),
      weights_(shape_) {
  for_parameters(shape_, [&](const std::string& name, const std::vector<uint64_t>& shape, size_t place) {
    read(record, name, shape, std::span<float>(theta_).subspan(place, elements(shape)));
  });
  parameters_changed();
}

EnergyRecord MlpEnergy::record() const {
  EnergyRecord record;
  record.kind = "mlp";
  record.settings = Json{{"dimension", shape_.dimension},           {"widths", options_.widths},
                         {"activation", options_.activation},       {"residual", options_.residual},
                         {"spectral_norm", options_.spectral_norm}, {"fourier", options_.fourier},
                         {"fourier_scale", options_.fourier_scale}}
                        .dump();
  for_parameters(shape_, [&](const std::string& name, const std::vector<uint64_t>& shape, size_t place) {
    const auto begin = theta_.begin() + static_cast<ptrdiff_t>(place);
    record.tensors.push_back({name, shape, {begin, begin + static_cast<ptrdiff_t>(elements(shape))}});
  });
  return record;
}

}  // namespace selfnorm
