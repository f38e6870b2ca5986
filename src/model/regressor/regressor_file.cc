// The part of the file of a regressor that reads.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>

#include "selfnorm/model/model_file.h"
#include "selfnorm/model/network/dense_record.h"
#include "selfnorm/model/stored_record.h"
#include "selfnorm/runtime/checksum.h"
#include "selfnorm/runtime/mapped_file.h"
#include "stored_regressor.h"

namespace selfnorm {
namespace {

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

std::vector<double> vector_of(const LayoutReader& reader, const char* key, uint64_t n) {
  const std::span<const double> values = reader.tensor<double>(key, Dtype::F64, {n});
  return {values.begin(), values.end()};
}

MixtureShape mixture_of(const LayoutReader& reader) {
  MixtureShape shape;
  shape.dimension = size(reader, "dimension", kMostDimensions);
  shape.components = size(reader, "components", kMostComponents);
  shape.least_scale = finite(reader, "least_scale");
  shape.broad_mean = finite(reader, "broad_mean");
  shape.broad_scale = finite(reader, "broad_scale");
  if (reader.file.find("support.lower") != nullptr || reader.file.find("support.upper") != nullptr) {
    shape.lower = vector_of(reader, "support.lower", shape.dimension);
    shape.upper = vector_of(reader, "support.upper", shape.dimension);
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
    return std::make_unique<DenseNetwork>(make_dense_network(record(network), member_ + network));
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
  model.target_mean = vector_of(reader, "target.mean", model.dimension());
  model.target_scale = vector_of(reader, "target.scale", model.dimension());
  model.targets = stored_strings(reader, "targets", model.dimension());
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
  model.objective_json = reader.metadata("objective");
  model.training_json = reader.metadata("training");
  model.audit_json = reader.metadata("audit");
  check_regressor(model, name);
  runtime::require_checksum(bytes, name);
  return model;
}

}  // namespace

bool is_regressor_file(const std::string& path) { return is_family_file(path, kRegressorFamily); }

Regressor load_regressor(const std::string& path, EmbeddedCode code) {
  return with_errors_of(path, [&] {
    const runtime::MappedFile file(path);
    file.expect_scan();
    return read_regressor(file.bytes(), path, code);
  });
}

}  // namespace selfnorm
