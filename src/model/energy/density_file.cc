#include "selfnorm/model/energy/density_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/model/energy/make_energy.h"
#include "selfnorm/model/energy/tilted.h"
#include "selfnorm/model/model_file.h"
#include "selfnorm/model/string_column.h"
#include "selfnorm/proposal/density/make_density.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/layout_reader.h"
#include "selfnorm/runtime/mapped_file.h"
#include "stored_density.h"

namespace selfnorm {
namespace {

using runtime::Dtype;
using runtime::LayoutReader;
using runtime::Tensor;

constexpr size_t kValues = 16384;  // a unit of parallel work

template <class T>
std::vector<T> values_of(const LayoutReader& reader, const Tensor& tensor, Dtype dtype) {
  const std::span<const T> values = reader.tensor<T>(tensor.name, dtype, tensor.shape);
  return {values.begin(), values.end()};
}

void check_metadata(const LayoutReader& reader) {
  for (const auto& [key, expected] :
       {std::pair{"format", runtime::kFormat}, std::pair{"format_version", runtime::kFormatVersion},
        std::pair{"family", kDensityFamily}}) {
    if (reader.metadata(key) == expected) continue;
    reader.fail(
        fmt::format("metadata \"{}\" is \"{}\", expected \"{}\"; not a density that this selfnorm reads", key,
                    reader.metadata(key), expected));
  }
}

Standardisation standardisation_of(const LayoutReader& reader, uint64_t dimension) {
  const Tensor* mean = reader.file.find("standardisation.mean");
  const Tensor* scale = reader.file.find("standardisation.scale");
  if (mean == nullptr && scale == nullptr) return {};
  Standardisation out;
  for (const auto& [name, values] :
       {std::pair{"standardisation.mean", &out.mean}, std::pair{"standardisation.scale", &out.scale}}) {
    const std::span<const double> stored = reader.tensor<double>(name, Dtype::F64, {dimension});
    values->assign(stored.begin(), stored.end());
  }
  return out;
}

std::vector<std::string> names_of(const LayoutReader& reader, uint64_t dimension) {
  runtime::ModelLayout layout;
  layout.feature_names = reader.strings("feature_names", dimension);
  runtime::check_string_tables(layout, reader.name);
  return strings_of(layout.feature_names);
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

std::unique_ptr<Energy> energy_of(const LayoutReader& reader) {
  EnergyRecord record;
  record.kind = reader.metadata("energy");
  record.settings = reader.metadata("energy_settings");
  check_metadata_json(reader.name, "energy_settings", record.settings);
  for (const Tensor& tensor : reader.file.tensors) {
    if (!tensor.name.starts_with(kEnergyTensors)) continue;
    record.tensors.push_back({tensor.name.substr(kEnergyTensors.size()), tensor.shape,
                              values_of<float>(reader, tensor, Dtype::F32)});
  }
  if (const Tensor* module = reader.file.find("module")) {
    const std::vector<uint8_t> bytes = values_of<uint8_t>(reader, *module, Dtype::U8);
    record.module.assign(bytes.begin(), bytes.end());
  }
  return make_energy(record);
}

DensityModel read_density(std::span<const std::byte> bytes, const std::string& name) {
  const runtime::Safetensors file = runtime::parse_safetensors(bytes, name);
  const LayoutReader reader{file, name};
  check_metadata(reader);
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
  model.energy = energy_of(reader);
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
  model.feature_names = names_of(reader, dimension);
  model.objective_json = reader.metadata("objective");
  model.training_json = reader.metadata("training");
  model.audit_json = reader.metadata("audit");
  check_density(model, name);
  if (model.base) model.energy = std::make_unique<TiltedEnergy>(std::move(model.energy), model.base);
  return model;
}

template <class Action>
auto with_errors_of(const std::string& path, const Action& action) {
  try {
    return action();
  } catch (const runtime::FormatError& error) {
    throw Error(error.what());
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(path)) throw;
    throw Error(path + ": " + error.what());
  }
}

}  // namespace

void Standardisation::apply(const Points& x, std::span<float> u) const {
  parallel_ranges(x.size(), kValues, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t j = i % x.columns;
      u[i] = mean.empty() ? x.data[i] : static_cast<float>((x.data[i] - mean[j]) / scale[j]);
    }
  });
}

void Standardisation::undo(const Points& u, std::span<float> x) const {
  parallel_ranges(u.size(), kValues, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t j = i % u.columns;
      x[i] = mean.empty() ? u.data[i] : static_cast<float>(u.data[i] * scale[j] + mean[j]);
    }
  });
}

double Standardisation::log_volume() const {
  double sum = 0;
  for (const double s : scale) sum += std::log(s);
  return sum;
}

bool is_density_file(const std::string& path) {
  try {
    const runtime::MappedFile file(path);
    const runtime::Safetensors content = runtime::parse_safetensors(file.bytes(), path);
    const auto is = [&content](const char* key, std::string_view value) {
      const auto found = content.metadata.find(key);
      return found != content.metadata.end() && found->second == value;
    };
    return is("format", runtime::kFormat) && is("family", kDensityFamily);
  } catch (const runtime::FormatError&) {
    return false;
  } catch (const runtime::IoError&) {
    return false;
  }
}

DensityModel load_density(const std::string& path) {
  return with_errors_of(path, [&path] {
    const runtime::MappedFile file(path);
    file.expect_scan();
    return read_density(file.bytes(), path);
  });
}

}  // namespace selfnorm
