#include "selfnorm/objective/options.h"

#include "selfnorm/base/range.h"
#include "selfnorm/proposal/proposal.h"

namespace selfnorm {

namespace {

constexpr uint64_t kMostSamples = 1'000'000;
constexpr uint32_t kMostHidden = 4096;

}  // namespace

void ObjectiveOptions::validate() const {
  require_range(name == "sampled" ? alpha > 0 : alpha >= 0, "alpha", alpha,
                name == "sampled" ? "a finite number > 0 for the sampled objective" : "a finite number >= 0");
  require_range(delta > 0, "delta", delta, "a finite number > 0");
  require_range(gamma >= 0 && gamma <= 1, "gamma", gamma, "a number in [0, 1]");
  require_range(true, "centre", centre.value_or(0), "a finite number");
  require_range(samples >= 1 && samples <= kMostSamples, "samples", static_cast<double>(samples),
                "1 to 1000000 noise classes");
  require_one_of("noise", noise, noise_names());
  require_range(noise_power >= 0 && noise_power <= 1, "noise-power", noise_power, "a number in [0, 1]");
  require_one_of("noise-sharing", noise_sharing, {"batch", "example"});
  require_one_of("normalizer", normalizer, {"zero", "constant", "linear", "mlp"});
  require_range(normalizer_hidden >= 1 && normalizer_hidden <= kMostHidden, "normalizer-hidden",
                normalizer_hidden, "1 to 4096 units");
}

}  // namespace selfnorm
