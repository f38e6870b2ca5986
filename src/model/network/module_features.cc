#include "feature_kinds.h"
#include "sealed_features.h"
#include "selfnorm/base/error.h"
#include "selfnorm/model/energy/record_reader.h"
#include "selfnorm/model/energy/torchscript_factory.h"
#include "selfnorm/model/network/torch_features_factory.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm {
namespace {

constexpr uint32_t kMostModuleInputs = 1 << 20;

std::unique_ptr<FeatureNetwork> features_of(std::string_view bytes, uint32_t inputs, const std::string& name,
                                            EmbeddedCode code) {
  auto* make = reinterpret_cast<TorchFeaturesFactory*>(
      torch_symbol(SELFNORM_TEXT(SELFNORM_TORCH_FEATURES), name, bytes, code));
  return std::unique_ptr<FeatureNetwork>(make(bytes.data(), bytes.size(), inputs, name.c_str()));
}

uint32_t inputs_of(const EnergyRecord& record) {
  return RecordReader(record, "TorchScript features", "torchscript")
      .whole_number("inputs", 0, kMostModuleInputs);
}

}  // namespace

std::unique_ptr<FeatureNetwork> load_module_features(const std::string& path, uint32_t inputs,
                                                     EmbeddedCode code) {
  try {
    const runtime::MappedFile file(path);
    const auto* bytes = reinterpret_cast<const char*>(file.bytes().data());
    return features_of({bytes, file.bytes().size()}, inputs, path, code);
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  }
}

std::unique_ptr<FeatureNetwork> make_module_features(const EnergyRecord& record, EmbeddedCode code) {
  return features_of(record.module, inputs_of(record), "TorchScript features", code);
}

std::unique_ptr<FeatureNetwork> make_sealed_features(const EnergyRecord& record, uint32_t width) {
  return std::make_unique<SealedFeatures>(record, inputs_of(record), width);
}

}  // namespace selfnorm
