#include "model/energy/torchscript_factory.h"
#include "model/neural/torch_energy.h"
#include "model/neural/torch_features.h"

using selfnorm::ModuleOutput;
using selfnorm::TorchModule;

extern "C" __attribute__((visibility("default"))) selfnorm::TorchFactory SELFNORM_TORCH_FACTORY;
extern "C" __attribute__((visibility("default"))) selfnorm::TorchFeaturesFactory SELFNORM_TORCH_FEATURES;

selfnorm::Energy* SELFNORM_TORCH_FACTORY(const char* bytes, size_t size, uint32_t dimension,
                                         const char* name) {
  return make_torch_energy(TorchModule({bytes, size}, dimension, name, ModuleOutput::scores)).release();
}

selfnorm::FeatureNetwork* SELFNORM_TORCH_FEATURES(const char* bytes, size_t size, uint32_t inputs,
                                                  const char* name) {
  return make_torch_features(TorchModule({bytes, size}, inputs, name, ModuleOutput::features)).release();
}
