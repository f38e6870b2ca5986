// The file of a density (density_file.h):
//   metadata  format, format_version and family "density"; features d; log_normalizer b (the shortest decimal
//             that is the same double), normalizer (how b came about); base (none | proposal | own:
//             base_kind); proposal (its kind); energy (its kind), energy_settings (JSON); JSON:
//             objective, training, audit; geometry (optional, data/points/point_geometry.h)
//   tensors   proposal.<name>, base.<name> F64; energy.<name> F32; module U8 (torchscript);
//             standardisation.mean, standardisation.scale F64 d (optional); feature_names (optional)
#include "model/energy/density_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <string_view>
#include <utility>

#include "math/parallel.h"
#include "model/energy/make_energy.h"
#include "model/energy/tilted.h"
#include "model/model_file.h"
#include "model/stored_record.h"
#include "proposal/density/make_density.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/checksum.h"

namespace selfnorm {
namespace {

constexpr std::string_view kDensityFamily = "density";
constexpr std::string_view kProposalTensors = "proposal.", kBaseTensors = "base.", kEnergyTensors = "energy.";

// Sizes, finite numbers, scales > 0, JSON: of models to save and of models just read. Throws Error.
void check_density(const DensityModel& model, const std::string& file);

using runtime::Dtype;
using runtime::LayoutReader;
using runtime::Tensor;

constexpr size_t kValues = 16384;  // a unit of parallel work

Standardisation standardisation_of(const LayoutReader& reader, uint64_t dimension) {
  const char *mean = "standardisation.mean", *scale = "standardisation.scale";
  if (reader.file.find(mean) == nullptr && reader.file.find(scale) == nullptr) return {};
  return {stored_doubles(reader, mean, dimension), stored_doubles(reader, scale, dimension)};
}

// out <- change(value, column) of every value.
template <class Change>
void each_value(const Points& x, std::span<float> out, const Change& change) {
  parallel_ranges(x.size(), kValues, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out[i] = change(x.data[i], i % x.columns);
  });
}

// `kind` is the metadata with its kind (absent: null), `prefix` that of its tensors.
std::shared_ptr<const Density> density_of(const LayoutReader& reader, const std::string& kind,
                                          std::string_view prefix, uint32_t dimension) {
  if (!reader.file.metadata.contains(kind)) return nullptr;
  DensityRecord record{std::string(reader.metadata(kind)), {}};
  for (const Tensor& tensor : reader.file.tensors) {
    if (!tensor.name.starts_with(prefix)) continue;
    record.values[tensor.name.substr(prefix.size())] = values_of<double>(reader, tensor, Dtype::F64);
  }
  return make_density(record, dimension);
}

DensityModel read_density(std::span<const std::byte> bytes, const std::string& name, EmbeddedCode code) {
  const runtime::Safetensors file = runtime::parse_safetensors(bytes, name);
  const LayoutReader reader{file, name};
  check_family(reader, kDensityFamily, "a density");
  for (const Tensor& tensor : file.tensors) {
    const auto is_any = [&tensor](auto... names) { return ((tensor.name == names) || ...); };
    if (tensor.name.starts_with(kProposalTensors) || tensor.name.starts_with(kBaseTensors) ||
        tensor.name.starts_with(kEnergyTensors) ||
        is_any("module", "standardisation.mean", "standardisation.scale", "feature_names.bytes",
               "feature_names.offsets"))
      continue;
    reader.fail("unexpected tensor \"" + tensor.name + "\"");
  }
  const uint32_t dimension = reader.number<uint32_t>("features");
  if (dimension == 0) reader.fail("metadata \"features\" is 0, expected at least 1");

  DensityModel model;
  model.proposal = density_of(reader, "proposal", kProposalTensors, dimension);
  model.energy = make_energy(stored_record(reader, "energy", "module"), code);
  if (model.energy->dimension() != dimension) {
    reader.fail(
        fmt::format("the energy takes {} columns, expected {}", model.energy->dimension(), dimension));
  }
  constexpr std::array<std::string_view, 3> bases = {"none", "proposal", "own"};
  const uint64_t base = reader.choice("base", bases);
  if (base == 1) model.base = model.proposal;
  if (base == 2) model.base = density_of(reader, "base_kind", kBaseTensors, dimension);
  if (base > 0 && !model.base) reader.fail("the energy tilts a base, but there is none");
  model.log_normalizer = reader.number<double>("log_normalizer");
  model.normalizer_kind = reader.metadata("normalizer");
  model.standardisation = standardisation_of(reader, dimension);
  if (file.metadata.contains("geometry"))
    model.geometry = PointGeometry::of_json(std::string(reader.metadata("geometry")), dimension);
  model.feature_names = stored_strings(reader, "feature_names", model.columns());
  read_records(reader, model);
  check_density(model, name);
  runtime::require_checksum(bytes, name);
  if (model.base) model.energy = std::make_unique<TiltedEnergy>(std::move(model.energy), model.base);
  return model;
}

void check_density(const DensityModel& model, const std::string& file) {
  const auto require = [&file](bool good, const std::string& what) {
    if (!good) throw Error(file + ": " + what);
  };
  const uint32_t d = model.dimension();
  require(std::isfinite(model.log_normalizer), fmt::format("the log-normalizer is {}", model.log_normalizer));
  require(model.proposal != nullptr,
          "the density has no proposal, which log Z and samples are drawn from; train it again");
  require(model.proposal->dimension() == d, "the proposal and the energy differ in their dimensions");
  require(!model.base || model.base->dimension() == d, "the base and the energy differ in their dimensions");
  const auto theta = std::as_const(*model.energy).parameters();
  require(std::all_of(theta.begin(), theta.end(), [](float v) { return std::isfinite(v); }),
          "a parameter of the energy is not finite");
  const Standardisation& s = model.standardisation;
  require(s.mean.size() == s.scale.size() && (s.mean.empty() || s.mean.size() == d),
          fmt::format("standardisation of {} and {} columns, expected {}", s.mean.size(), s.scale.size(), d));
  for (size_t j = 0; j < s.scale.size(); ++j) {
    require(std::abs(s.mean[j]) <= FLT_MAX && s.scale[j] >= FLT_TRUE_MIN && s.scale[j] <= FLT_MAX,
            fmt::format("standardisation of column {} by mean {} and scale {}; expected those of float32 "
                        "data: at most {} in size, and a scale > 0",
                        j, s.mean[j], s.scale[j], FLT_MAX));
  }
  require(model.feature_names.empty() || model.feature_names.size() == model.columns(),
          fmt::format("{} names of columns, expected {}", model.feature_names.size(), model.columns()));
  check_records(model, file);
}

}  // namespace

void Standardisation::apply(const Points& x, std::span<float> u) const {
  each_value(x, u, [this](float v, size_t j) {
    return mean.empty() ? v : static_cast<float>((v - mean[j]) / scale[j]);
  });
}

void Standardisation::undo(const Points& u, std::span<float> x) const {
  each_value(u, x, [this](float v, size_t j) {
    return mean.empty() ? v : static_cast<float>(v * scale[j] + mean[j]);
  });
}

double Standardisation::log_volume() const {
  double sum = 0;
  for (const double s : scale) sum += std::log(s);
  return sum;
}

DensityModel load_density(const std::string& path, EmbeddedCode code) {
  return with_errors_of(
      path, [&] { return read_mapped(path, [&](auto bytes) { return read_density(bytes, path, code); }); });
}

void save_density(const DensityModel& model, const std::string& path) {
  check_density(model, path);
  const EnergyRecord energy = model.energy->record();
  check_metadata_json(path, "energy_settings", energy.settings);
  Metadata metadata = model_metadata(kDensityFamily, model);
  metadata["features"] = std::to_string(model.dimension());
  metadata["log_normalizer"] = fmt::format("{}", model.log_normalizer);
  metadata["normalizer"] = model.normalizer_kind;
  metadata["base"] = !model.base ? "none" : model.base == model.proposal ? "proposal" : "own";
  if (!model.geometry.is_plain()) metadata.emplace("geometry", model.geometry.json());
  std::vector<runtime::Tensor> tensors;
  const auto add = [&tensors]<class T>(std::string name, Dtype dtype, const T& values) {
    tensors.push_back(make_tensor(std::move(name), dtype, {values.size()}, std::span(values)));
  };
  DensityRecord proposal, base;
  const auto add_density = [&](const Density& density, const char* kind, std::string_view prefix,
                               DensityRecord& record) {
    record = density.record();
    metadata[kind] = record.kind;
    for (const auto& [name, values] : record.values) add(std::string(prefix) + name, Dtype::F64, values);
  };
  add_density(*model.proposal, "proposal", kProposalTensors, proposal);
  if (model.base && model.base != model.proposal) add_density(*model.base, "base_kind", kBaseTensors, base);
  add_record(energy, "energy", "module", metadata, tensors);
  if (!model.standardisation.mean.empty()) {
    add("standardisation.mean", Dtype::F64, model.standardisation.mean);
    add("standardisation.scale", Dtype::F64, model.standardisation.scale);
  }
  const StringColumn names(model.feature_names);
  names.add_to(tensors, "feature_names");
  write_safetensors(path, std::move(tensors), metadata);
}

}  // namespace selfnorm
