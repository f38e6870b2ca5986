// The part of density_file.h that writes.
#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <utility>

#include "selfnorm/base/error.h"
#include "selfnorm/model/model_file.h"
#include "selfnorm/model/stored_record.h"
#include "selfnorm/model/string_column.h"
#include "stored_density.h"

namespace selfnorm {

using runtime::Dtype;

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
    require(
        std::abs(s.mean[j]) <= FLT_MAX && s.scale[j] >= FLT_TRUE_MIN && s.scale[j] <= FLT_MAX,
        fmt::format("standardisation of column {} by mean {} and scale {}; expected those of float32 data: "
                    "at most {} in size, and a scale > 0",
                    j, s.mean[j], s.scale[j], FLT_MAX));
  }
  require(model.feature_names.empty() || model.feature_names.size() == d,
          fmt::format("{} names of columns, expected {}", model.feature_names.size(), d));
  check_metadata_json(file, "objective", model.objective_json);
  check_metadata_json(file, "training", model.training_json);
  check_metadata_json(file, "audit", model.audit_json);
}

void save_density(const DensityModel& model, const std::string& path) {
  check_density(model, path);
  const EnergyRecord energy = model.energy->record();
  check_metadata_json(path, "energy_settings", energy.settings);
  Metadata metadata = {{"format", std::string(runtime::kFormat)},
                       {"format_version", std::string(runtime::kFormatVersion)},
                       {"family", std::string(kDensityFamily)},
                       {"features", std::to_string(model.dimension())},
                       {"log_normalizer", fmt::format("{}", model.log_normalizer)},
                       {"normalizer", model.normalizer_kind},
                       {"base", !model.base                    ? "none"
                                : model.base == model.proposal ? "proposal"
                                                               : "own"},
                       {"objective", model.objective_json},
                       {"training", model.training_json},
                       {"audit", model.audit_json}};
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
