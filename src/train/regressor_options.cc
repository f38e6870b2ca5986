#include "selfnorm/train/regressor_options.h"

#include <algorithm>

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/math/activation.h"
#include "selfnorm/optim/schedule.h"

namespace selfnorm {
namespace {

void require_widths(const char* name, const std::vector<uint32_t>& widths, size_t least) {
  require_range(widths.size() >= least && widths.size() <= 16, name, static_cast<double>(widths.size()),
                least == 0 ? "0 to 16 layers" : "1 to 16 layers");
  for (const uint32_t width : widths) require_range(width >= 1 && width <= 4096, name, width, "1 to 4096");
}

}  // namespace

std::vector<std::string> regressor_objective_names() {
  return {"snl", "is", "nce", "ranking-nce", "nce+", "kld-is", "mcmc", "sm", "dsm", "mdn"};
}

void RegressorOptions::validate() const {
  require_one_of("objective", objective, regressor_objective_names());
  require_widths("features", features, 0);
  require_widths("joint", joint, 1);
  require_widths("normalizer", normalizer, 0);
  require_one_of("activation", activation, activation_names());
  require_one_of("base", base, {"proposal", "broad"});
  require_one_of("learn-proposal", learn_proposal, {"data", "kl", "both"});
  require_one_of("schedule", schedule, schedule_names());
  require_range(components >= 1 && components <= 256, "components", components, "1 to 256");
  require_range(tail_weight >= 0 && tail_weight < 1, "tail-weight", tail_weight, "0 or more, below 1");
  require_range(least_scale > 0 && least_scale < 10, "least-scale", least_scale, "a number > 0, below 10");
  require_range(noise_floor >= 0, "noise-floor", noise_floor, "0 or more");
  require_range(input_noise >= 0, "input-noise", input_noise, "0 or more");
  require_range(samples >= 1 && samples <= 100'000, "samples", static_cast<double>(samples), "1 to 1e5");
  require_range(defence > 0 && defence < 1, "defence", defence, "above 0, below 1");
  require_range(epochs <= 1'000'000, "epochs", static_cast<double>(epochs), "0 (by the rows) to 1e6");
  require_range(batch <= 1'000'000, "batch", static_cast<double>(batch), "0 (by the rows) to 1e6");
  require_range(warm_up >= 0 && warm_up < 1, "warm-up", warm_up, "0 or more, below 1");
  require_range(learning_rate > 0, "learning-rate", learning_rate, "a number > 0");
  require_range(normalizer_rate > 0, "normalizer-rate", normalizer_rate, "a number > 0");
  require_range(weight_decay >= 0, "weight-decay", weight_decay, "0 or more");
  require_range(average >= 0 && average < 1, "average", average, "0 or more, below 1");
  require_range(clip > 0, "clip", clip, "a number > 0");
  require_range(checks >= 1 && checks <= 100'000, "checks", static_cast<double>(checks), "1 to 1e5");
  require_range(langevin_steps >= 1 && langevin_steps <= 100'000, "langevin-steps",
                static_cast<double>(langevin_steps), "1 to 1e5");
  require_range(langevin_step > 0, "langevin-step", langevin_step, "a number > 0");
  require_range(noise > 0, "noise", noise, "a number > 0");
  require_range(ensemble >= 1 && ensemble <= 100, "ensemble", static_cast<double>(ensemble), "1 to 100");
  const auto require_bounds = [](const char* name, const std::vector<double>& bound) {
    if (std::any_of(bound.begin(), bound.end(), [](double b) { return b != b; }))
      throw Error(std::string(name) + " has to be numbers");
  };
  require_bounds("lower", lower);
  require_bounds("upper", upper);
  for (size_t j = 0; j < std::min(lower.size(), upper.size()); ++j)
    if (!(lower[j] < upper[j])) throw Error("lower has to be below upper for every target");
}

}  // namespace selfnorm
