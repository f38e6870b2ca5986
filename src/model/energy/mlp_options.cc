#include "selfnorm/model/energy/mlp_options.h"

#include "selfnorm/base/range.h"
#include "selfnorm/math/activation.h"

namespace selfnorm {

void MlpOptions::validate() const {
  require_range(!widths.empty() && widths.size() <= 16, "number of hidden layers",
                static_cast<double>(widths.size()), "1 to 16");
  for (const uint32_t w : widths)
    require_range(w >= 1 && w <= 4096, "width of a hidden layer", w, "1 to 4096");
  require_one_of("activation", activation, activation_names());
  require_range(fourier <= 4096, "number of Fourier features", fourier, "0 to 4096");
  require_range(fourier_scale > 0, "fourier_scale", fourier_scale, "a number > 0");
}

}  // namespace selfnorm
