// The file of a regressor (regressor.h):
//   metadata  format, format_version and family "regressor"; dimension d, components, least_scale,
//   broad_mean,
//             broad_scale: the shape of the mixture; base (proposal | broad), tail_weight; normalizer (how b
//             came about); ensemble M; encoder (JSON); member<m>.<network> and its settings
//             (model/stored_record.h); JSON: objective, training, audit
//   tensors   target.mean, target.scale F64 d; support.lower, support.upper F64 d (both or neither); targets;
//             member<m>.<network>.<name> F32, member<m>.<network>.module U8 (torchscript)
//             in the metadata where they say something: member<m>.temperature, target_kind, target_high
//   networks  features, mixture_head; with a tilt context, tilt and optionally normalizer, tilt_features
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/failure.h"
#include "model/model_file.h"
#include "model/regressor/regressor.h"
#include "model/stored_record.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/checksum.h"

namespace selfnorm {
namespace {

constexpr std::string_view kRegressorFamily = "regressor";
constexpr uint32_t kMostTargets = 3, kMostComponents = 4096, kMostMembers = 1000;

// Sizes that fit each other, finite numbers, scales > 0, JSON: of models to save and just read. Throws Error.
void check_regressor(const Regressor& model, const std::string& file);

using runtime::Dtype;
using runtime::LayoutReader;
using runtime::Tensor;

uint32_t size(const LayoutReader& reader, const char* key, uint32_t most) {
  const uint32_t value = reader.number<uint32_t>(key);
  if (value < 1 || value > most)
    reader.fail(fmt::format("metadata \"{}\" is {}, expected 1 to {}", key, value, most));
  return value;
}

double finite(const LayoutReader& reader, const char* key) {
  const double value = reader.number<double>(key);
  if (!std::isfinite(value)) reader.fail(fmt::format("metadata \"{}\" is not finite", key));
  return value;
}

MixtureShape mixture_of(const LayoutReader& reader) {
  MixtureShape shape;
  shape.dimension = size(reader, "dimension", kMostTargets);
  shape.components = size(reader, "components", kMostComponents);
  shape.least_scale = finite(reader, "least_scale");
  shape.broad_mean = finite(reader, "broad_mean");
  shape.broad_scale = finite(reader, "broad_scale");
  if (reader.file.find("support.lower") != nullptr || reader.file.find("support.upper") != nullptr) {
    shape.lower = stored_doubles(reader, "support.lower", shape.dimension);
    shape.upper = stored_doubles(reader, "support.upper", shape.dimension);
  }
  return shape;
}

// The networks of a member; the prefixes of their tensors are added to `known`.
class MemberReader {
 public:
  MemberReader(const LayoutReader& reader, size_t member, EmbeddedCode code, std::set<std::string>& known)
      : reader_(reader), member_(fmt::format("member{}.", member)), code_(code), known_(known) {}

  RegressorNetworks networks() {
    RegressorNetworks out;
    out.mixture_head = dense("mixture_head");
    out.features = features("features", out.mixture_head.get());
    if (has("context")) out.context = dense("context");
    if (has("tilt_features")) out.tilt_features = features("tilt_features", out.context.get());
    if (has("tilt")) out.tilt = make_conditional_mlp(record("tilt"));
    if (has("normalizer")) out.normalizer = dense("normalizer");
    if (has("temperature")) out.temperature = finite(reader_, (member_ + "temperature").c_str());
    return out;
  }

 private:
  bool has(const char* network) const { return reader_.file.metadata.contains(member_ + network); }
  EnergyRecord record(const char* network) {
    const std::string name = member_ + network;
    known_.insert(name);
    return stored_record(reader_, name, name + ".module");
  }
  std::unique_ptr<FeatureNetwork> features(const char* network, const DenseNetwork* head) {
    const EnergyRecord stored = record(network);
    if (code_ != EmbeddedCode::seal || stored.kind != "torchscript") return make_features(stored, code_);
    return make_sealed_features(stored, head == nullptr ? 0 : head->shape().inputs);
  }
  std::unique_ptr<DenseNetwork> dense(const char* network) {
    return std::make_unique<DenseNetwork>(record(network), member_ + network);
  }

  const LayoutReader& reader_;
  std::string member_;
  EmbeddedCode code_;
  std::set<std::string>& known_;
};

void refuse_unexpected(const LayoutReader& reader, const std::set<std::string>& networks) {
  static const std::set<std::string> own = {"target.mean",   "target.scale",  "support.lower",
                                            "support.upper", "targets.bytes", "targets.offsets"};
  for (const Tensor& tensor : reader.file.tensors) {
    const size_t member = tensor.name.find('.'), network = tensor.name.find('.', member + 1);
    if (own.contains(tensor.name) || networks.contains(tensor.name.substr(0, network))) continue;
    reader.fail("unexpected tensor \"" + tensor.name + "\"");
  }
}

Regressor read_regressor(std::span<const std::byte> bytes, const std::string& name, EmbeddedCode code) {
  const runtime::Safetensors file = runtime::parse_safetensors(bytes, name);
  const LayoutReader reader{file, name};
  check_family(reader, kRegressorFamily, "a regressor");
  Regressor model;
  model.mixture = mixture_of(reader);
  model.target_mean = stored_doubles(reader, "target.mean", model.dimension());
  model.target_scale = stored_doubles(reader, "target.scale", model.dimension());
  model.targets = stored_strings(reader, "targets", model.dimension());
  if (file.metadata.contains("target_kind")) model.target_kind = reader.metadata("target_kind");
  if (file.metadata.contains("target_high")) model.target_high = reader.metadata("target_high");
  constexpr std::array<std::string_view, 2> bases = {"proposal", "broad"};
  model.has_base = reader.choice("base", bases) == 0;
  model.tail_weight = finite(reader, "tail_weight");
  model.normalizer_kind = reader.metadata("normalizer");
  const std::string encoder(reader.metadata("encoder"));
  check_metadata_json(name, "encoder", encoder);
  model.encoder = FrameEncoder::from_json(encoder);
  std::set<std::string> networks;
  const uint32_t members = size(reader, "ensemble", kMostMembers);
  for (uint32_t m = 0; m < members; ++m)
    model.members.push_back(MemberReader(reader, m, code, networks).networks());
  refuse_unexpected(reader, networks);
  read_records(reader, model);
  check_regressor(model, name);
  runtime::require_checksum(bytes, name);
  return model;
}

class Check {
 public:
  Check(const Regressor& model, const std::string& file) : model_(model), file_(file) {}

  void numbers() const {
    const uint32_t d = model_.dimension();
    require(d >= 1 && d <= kMostTargets,
            fmt::format("targets of {} dimensions, expected 1 to {}", d, kMostTargets));
    require(model_.mixture.components >= 1 && model_.mixture.components <= kMostComponents,
            fmt::format("{} components, expected 1 to {}", model_.mixture.components, kMostComponents));
    const ConditionalMixture mixture(model_.mixture);
    require(model_.targets.size() == d && model_.target_mean.size() == d && model_.target_scale.size() == d,
            fmt::format("{} names, {} means and {} scales of targets, expected {}", model_.targets.size(),
                        model_.target_mean.size(), model_.target_scale.size(), d));
    for (uint32_t j = 0; j < d; ++j) {
      const double mean = model_.target_mean[j], scale = model_.target_scale[j];
      require(std::isfinite(mean) && std::isfinite(scale) && scale > 0,
              fmt::format("standardisation of target {} by mean {} and scale {}; expected finite numbers and "
                          "a scale > 0",
                          j, mean, scale));
    }
    require_range(model_.tail_weight >= 0 && model_.tail_weight < 1, "tail_weight", model_.tail_weight,
                  "0 <= x < 1");
    require_one_of("target_kind", model_.target_kind, {"number", "interval", "count", "ordinal"});
    require(
        (model_.target_kind == "interval") == !model_.target_high.empty() &&
            (model_.target_kind == "number" || d == 1),
        fmt::format("{} targets of kind {} with upper ends in '{}', expected a column for one interval alone",
                    d, model_.target_kind, model_.target_high));
    require_one_of("normalizer", model_.normalizer_kind, {"learned", "fitted", "zero", "estimated"});
    check_records(model_, file_);
  }

  void members() const {
    const size_t n = model_.members.size();
    require(n >= 1 && n <= kMostMembers, fmt::format("{} members, expected 1 to {}", n, kMostMembers));
    for (const RegressorNetworks& member : model_.members) networks(member);
  }

 private:
  void require(bool good, const std::string& what) const {
    if (!good) throw Error(file_ + ": " + what);
  }

  void finite(const char* name, std::span<const float> theta) const {
    require(std::all_of(theta.begin(), theta.end(), [](float v) { return std::isfinite(v); }),
            fmt::format("a parameter of the network '{}' is not finite", name));
  }

  void features(const char* name, const FeatureNetwork& network) const {
    require(
        network.inputs() == model_.encoder.numeric_inputs() && network.levels() == model_.encoder.levels(),
        fmt::format("the network '{}' takes {} numeric and {} categorical inputs, but the encoder gives "
                    "{} and {}, or their levels differ",
                    name, network.inputs(), network.levels().size(), model_.encoder.numeric_inputs(),
                    model_.encoder.levels().size()));
    finite(name, network.parameters());
  }

  void head(const char* name, const DenseNetwork& network, uint32_t inputs, uint32_t outputs) const {
    const DenseShape& shape = network.shape();
    require(shape.inputs == inputs && shape.levels.empty() && network.width() == outputs,
            fmt::format("the network '{}' maps {} numeric and {} categorical inputs to {} outputs, expected "
                        "{}, 0 and {}",
                        name, shape.inputs, shape.levels.size(), network.width(), inputs, outputs));
    finite(name, network.parameters());
  }

  void networks(const RegressorNetworks& m) const {
    require(std::isfinite(m.temperature) && m.temperature > 0,
            fmt::format("a member has temperature {}, expected a number above 0", m.temperature));
    require(m.features != nullptr && m.mixture_head != nullptr,
            "a member has no features or no mixture head, expected both");
    features("features", std::as_const(*m.features));
    head("mixture_head", std::as_const(*m.mixture_head), m.features->width(), model_.mixture.parameters());
    require((m.tilt != nullptr) == (m.context != nullptr),
            "a member has one of tilt and context, expected "
            "both or neither");
    if (m.tilt == nullptr) {
      require(!m.tilt_features && !m.normalizer,
              "a member without a tilt has features or a normalizer of it, expected none");
      return;
    }
    if (m.tilt_features) features("tilt_features", std::as_const(*m.tilt_features));
    const uint32_t width = m.tilt_features ? m.tilt_features->width() : m.features->width();
    require(
        m.tilt->dimension() == model_.dimension(),
        fmt::format("the tilt takes {} dimensions, expected {}", m.tilt->dimension(), model_.dimension()));
    head("context", std::as_const(*m.context), width, m.tilt->context_width());
    finite("tilt", std::as_const(*m.tilt).parameters());
    if (m.normalizer) head("normalizer", std::as_const(*m.normalizer), width, 1);
  }

  const Regressor& model_;
  const std::string& file_;
};

void check_regressor(const Regressor& model, const std::string& file) {
  const Check check(model, file);
  check.numbers();
  check.members();
}

}  // namespace

Regressor load_regressor(const std::string& path, EmbeddedCode code) {
  return with_errors_of(
      path, [&] { return read_mapped(path, [&](auto bytes) { return read_regressor(bytes, path, code); }); });
}

void save_regressor(const Regressor& model, const std::string& path) {
  with_errors_of(path, [&] { check_regressor(model, path); });
  const MixtureShape& mixture = model.mixture;
  const auto number = [](double value) { return fmt::format("{}", value); };
  Metadata metadata = model_metadata(kRegressorFamily, model);
  metadata.insert({{"dimension", std::to_string(mixture.dimension)},
                   {"components", std::to_string(mixture.components)},
                   {"least_scale", number(mixture.least_scale)},
                   {"broad_mean", number(mixture.broad_mean)},
                   {"broad_scale", number(mixture.broad_scale)},
                   {"base", model.has_base ? "proposal" : "broad"},
                   {"tail_weight", number(model.tail_weight)},
                   {"normalizer", model.normalizer_kind},
                   {"ensemble", std::to_string(model.members.size())},
                   {"encoder", model.encoder.json()}});
  if (model.target_kind != "number") metadata.emplace("target_kind", model.target_kind);
  if (!model.target_high.empty()) metadata.emplace("target_high", model.target_high);
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
    add_network(m, "mixture_head", member.mixture_head->record());
    if (member.context) add_network(m, "context", member.context->record());
    if (member.tilt) add_network(m, "tilt", member.tilt->record());
    if (member.normalizer) add_network(m, "normalizer", member.normalizer->record());
    if (member.temperature != 1)
      metadata.emplace(fmt::format("member{}.temperature", m), number(member.temperature));
  }
  write_safetensors(path, std::move(tensors), metadata);
}

}  // namespace selfnorm
