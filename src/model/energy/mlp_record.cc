#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mlp_energy.h"
#include "selfnorm/model/energy/record_reader.h"

namespace selfnorm {
namespace {

using Json = nlohmann::json;

constexpr uint32_t kMostDimensions = 0xFFFFFFFF;

RecordReader reader_of(const EnergyRecord& record) { return {record, "network energy", "mlp"}; }

MlpOptions options_of(const EnergyRecord& record) {
  const RecordReader reader = reader_of(record);
  MlpOptions options;
  options.widths = reader.whole_numbers("widths", 1, 4096);
  options.activation = reader.word("activation");
  options.residual = reader.flag("residual");
  options.spectral_norm = reader.flag("spectral_norm");
  options.fourier = reader.whole_number("fourier", 0, 4096);
  options.fourier_scale = reader.number("fourier_scale");
  options.validate();
  return options;
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

MlpShape checked_shape(const EnergyRecord& record) {
  const RecordReader reader = reader_of(record);
  MlpShape shape(reader.whole_number("dimension", 1, kMostDimensions), options_of(record));
  reader.expect_values(shape.parameters);
  return shape;
}

}  // namespace

MlpEnergy::MlpEnergy(const EnergyRecord& record)
    : options_(options_of(record)),
      shape_(checked_shape(record)),
      theta_(shape_.parameters),
      weights_(shape_) {
  const RecordReader reader = reader_of(record);
  for_parameters(shape_, [&](const std::string& name, const std::vector<uint64_t>& shape, size_t place) {
    reader.read(name, shape, std::span<float>(theta_).subspan(place, elements(shape)));
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
