#include "math/process/processor.h"

#include <cblas.h>
#include <fmt/format.h>
#include <hwy/targets.h>

namespace selfnorm {

std::string processor_kernels() {
  return fmt::format("Highway {:x}, OpenBLAS {} {}", hwy::SupportedTargets(), openblas_get_config(),
                     openblas_get_corename());
}

}  // namespace selfnorm
