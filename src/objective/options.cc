#include "selfnorm/objective/options.h"

#include "selfnorm/base/range.h"

namespace selfnorm {

void ObjectiveOptions::validate() const {
  require_range(name == "sampled" ? alpha > 0 : alpha >= 0, "alpha", alpha,
                name == "sampled" ? "a finite number > 0 for the sampled objective" : "a finite number >= 0");
  require_range(delta > 0, "delta", delta, "a finite number > 0");
  require_range(gamma >= 0 && gamma <= 1, "gamma", gamma, "a number in [0, 1]");
  require_range(true, "centre", centre.value_or(0), "a finite number");
}

}  // namespace selfnorm
