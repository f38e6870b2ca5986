#include "selfnorm/model/energy/density_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "selfnorm/math/parallel.h"
#include "selfnorm/model/energy/make_energy.h"
#include "selfnorm/model/energy/tilted.h"
#include "selfnorm/model/stored_record.h"
#include "selfnorm/proposal/density/make_density.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/mapped_file.h"
#include "stored_density.h"

namespace selfnorm {
namespace {

using runtime::Dtype;
using runtime::LayoutReader;
using runtime::Tensor;

constexpr size_t kValues = 16384;  // a unit of parallel work

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
  model.feature_names = stored_strings(reader, "feature_names", dimension);
  model.objective_json = reader.metadata("objective");
  model.training_json = reader.metadata("training");
  model.audit_json = reader.metadata("audit");
  check_density(model, name);
  runtime::require_checksum(bytes, name);
  if (model.base) model.energy = std::make_unique<TiltedEnergy>(std::move(model.energy), model.base);
  return model;
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

bool is_density_file(const std::string& path) { return is_family_file(path, kDensityFamily); }

DensityModel load_density(const std::string& path, EmbeddedCode code) {
  return with_errors_of(path, [&] {
    const runtime::MappedFile file(path);
    file.expect_scan();
    return read_density(file.bytes(), path, code);
  });
}

}  // namespace selfnorm
