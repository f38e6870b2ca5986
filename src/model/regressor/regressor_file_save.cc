// The part of the file of a regressor that writes.
#include <fmt/format.h>

#include <deque>

#include "selfnorm/model/model_file.h"
#include "selfnorm/model/network/dense_record.h"
#include "selfnorm/model/stored_record.h"
#include "selfnorm/model/string_column.h"
#include "stored_regressor.h"

namespace selfnorm {

using runtime::Dtype;

void save_regressor(const Regressor& model, const std::string& path) {
  with_errors_of(path, [&] { check_regressor(model, path); });
  const MixtureShape& mixture = model.mixture;
  const auto number = [](double value) { return fmt::format("{}", value); };
  Metadata metadata = {{"format", std::string(runtime::kFormat)},
                       {"format_version", std::string(runtime::kFormatVersion)},
                       {"family", std::string(kRegressorFamily)},
                       {"dimension", std::to_string(mixture.dimension)},
                       {"components", std::to_string(mixture.components)},
                       {"least_scale", number(mixture.least_scale)},
                       {"broad_mean", number(mixture.broad_mean)},
                       {"broad_scale", number(mixture.broad_scale)},
                       {"base", model.has_base ? "proposal" : "broad"},
                       {"tail_weight", number(model.tail_weight)},
                       {"normalizer", model.normalizer_kind},
                       {"ensemble", std::to_string(model.members.size())},
                       {"encoder", model.encoder.json()},
                       {"objective", model.objective_json},
                       {"training", model.training_json},
                       {"audit", model.audit_json}};
  std::vector<runtime::Tensor> tensors;
  const auto add = [&tensors](const char* name, const std::vector<double>& values) {
    tensors.push_back(make_tensor(name, Dtype::F64, {values.size()}, std::span(values)));
  };
  add("target.mean", model.target_mean);
  add("target.scale", model.target_scale);
  if (!mixture.lower.empty()) {
    add("support.lower", mixture.lower);
    add("support.upper", mixture.upper);
  }
  const StringColumn names(model.targets);
  names.add_to(tensors, "targets");

  std::deque<EnergyRecord> records;  // the tensors point into them
  const auto add_network = [&](size_t m, const char* network, EnergyRecord record) {
    const std::string name = fmt::format("member{}.{}", m, network);
    check_metadata_json(path, name.c_str(), record.settings);
    records.push_back(std::move(record));
    add_record(records.back(), name, name + ".module", metadata, tensors);
  };
  for (size_t m = 0; m < model.members.size(); ++m) {
    const RegressorNetworks& member = model.members[m];
    add_network(m, "features", member.features->record());
    if (member.tilt_features) add_network(m, "tilt_features", member.tilt_features->record());
    add_network(m, "mixture_head", record_of(*member.mixture_head));
    if (member.context) add_network(m, "context", record_of(*member.context));
    if (member.tilt) add_network(m, "tilt", member.tilt->record());
    if (member.normalizer) add_network(m, "normalizer", record_of(*member.normalizer));
  }
  write_safetensors(path, std::move(tensors), metadata);
}

}  // namespace selfnorm
