#include "model/network/dense_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/energy/record_reader.h"

namespace selfnorm {
namespace {

constexpr uint32_t kMostInputs = 1 << 20, kMostEmbedded = 1 << 24, kMostOutputs = 1 << 16;
constexpr size_t kMostLayers = 64, kMostCategorical = 1 << 16;

// take(name, shape, first, count): every tensor and its place in theta.
template <class Take>
void for_parameters(const DenseShape& shape, const Take& take) {
  size_t first = 0;
  const auto next = [&](const std::string& name, std::vector<uint64_t> sizes) {
    size_t count = 1;
    for (const uint64_t size : sizes) count *= size;
    take(name, sizes, first, count);
    first += count;
  };
  uint64_t in = shape.inputs;
  for (size_t l = 0; l < shape.widths.size(); ++l) {
    next(fmt::format("layer{}.weight", l), {shape.widths[l], in});
    next(fmt::format("layer{}.bias", l), {shape.widths[l]});
    in = shape.widths[l];
  }
  for (size_t k = 0; k < shape.levels.size(); ++k)
    next(fmt::format("embedding{}.weight", k), {shape.levels[k], shape.widths[0]});
}

DenseShape shape_of(const RecordReader& reader) {
  DenseShape shape;
  shape.inputs = reader.whole_number("inputs", 0, kMostInputs);
  shape.levels = reader.whole_numbers("levels", 1, kMostEmbedded);
  shape.widths = reader.whole_numbers("widths", 1, kMostOutputs);
  shape.activation = activation_of(reader.word("activation"));
  shape.activates_output = reader.flag("activates_output");
  shape.output_scale = reader.number("output_scale");
  if (shape.widths.empty() || shape.widths.size() > kMostLayers || shape.levels.size() > kMostCategorical)
    reader.fail(fmt::format("it has {} layers and {} categorical inputs, expected 1 to {} and at most {}",
                            shape.widths.size(), shape.levels.size(), kMostLayers, kMostCategorical));
  if (!(shape.output_scale >= 0 && shape.output_scale <= 1e3))
    reader.fail(fmt::format("setting 'output_scale' is {}, expected 0 to 1000", shape.output_scale));
  return shape;
}

}  // namespace

EnergyRecord record_of(const DenseNetwork& network) {
  const DenseShape& shape = network.shape();
  EnergyRecord record;
  record.kind = "dense";
  record.settings = nlohmann::json{{"inputs", shape.inputs},
                                   {"levels", shape.levels},
                                   {"widths", shape.widths},
                                   {"activation", activation_names()[static_cast<size_t>(shape.activation)]},
                                   {"activates_output", shape.activates_output},
                                   {"output_scale", shape.output_scale}}
                        .dump();
  const std::span<const float> theta = network.parameters();
  for_parameters(
      shape, [&](const std::string& name, const std::vector<uint64_t>& sizes, size_t first, size_t count) {
        const auto part = theta.subspan(first, count);
        record.tensors.push_back({name, sizes, {part.begin(), part.end()}});
      });
  return record;
}

DenseNetwork make_dense_network(const EnergyRecord& record, const std::string& what) {
  const RecordReader reader(record, what, "dense");
  const DenseShape shape = shape_of(reader);
  reader.expect_values(shape.parameters());
  DenseNetwork network(shape, 0);
  for_parameters(
      shape, [&](const std::string& name, const std::vector<uint64_t>& sizes, size_t first, size_t count) {
        reader.read(name, sizes, network.parameters().subspan(first, count));
      });
  network.parameters_changed();
  return network;
}

}  // namespace selfnorm
