#include "selfnorm/model/energy/torchscript_factory.h"
#include "torch_energy.h"

extern "C" __attribute__((visibility("default"))) selfnorm::TorchFactory SELFNORM_TORCH_FACTORY;

selfnorm::Energy* SELFNORM_TORCH_FACTORY(const char* bytes, size_t size, uint32_t dimension,
                                         const char* name) {
  return selfnorm::make_torch_energy(selfnorm::TorchModule({bytes, size}, dimension, name)).release();
}
