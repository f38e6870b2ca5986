#include "experiments/regression/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMembers = 5;  // of the networks for the tables, all but the linear one
// Gustafsson et al. 2020, in the units of y; the first two for task 1.
constexpr double kLangevinStep = 0.05, kMatchingNoise = 0.2, kJitter = 0.025;

// The same shapes in a second.
void reduce(RegressorOptions& options) {
  if (!options.features.empty()) options.features = {12};
  options.joint = {12};
  options.normalizer = {8};
  options.components = std::min(options.components, 3u);
  options.samples = 8;
  options.epochs = 4;
  options.batch = 32;
  options.checks = 2;
  options.langevin_steps = 2;
  options.ensemble = std::min<uint64_t>(options.ensemble, 2);
}

}  // namespace

uint64_t regression_seed(const ExperimentOptions& options, size_t i) { return 5 * (options.seed - 1) + i; }

RegressorOptions task_settings(int task, const std::string& objective, double deviation, Extent extent) {
  RegressorOptions out;
  out.objective = objective;
  out.ensemble = 1;
  out.langevin_steps = 16;
  if (task == 1) out.langevin_step = kLangevinStep / deviation;
  if (task == 1 && objective == "dsm") out.noise = kMatchingNoise / deviation;
  if (objective == "nce+" || objective == "kld-is") out.noise = kJitter / deviation;
  if (extent == Extent::reduced) reduce(out);
  return out;
}

std::vector<std::string> table_models() { return {"snl", "mdn", "gaussian", "linear"}; }

TableSettings table_settings(const std::string& model, Extent extent) {
  TableSettings out;
  RegressorOptions& o = out.options;
  o.objective = model == "snl" ? "snl" : "mdn";
  if (model == "gaussian" || model == "linear") {
    o.components = 1;
    o.tail_weight = 0;
  }
  if (model == "linear") {
    o.features = {};
    o.shared_scale = true;
    o.ensemble = 1;
  } else {
    o.ensemble = kMembers;
  }
  if (extent == Extent::reduced) reduce(o);
  return out;
}

std::vector<std::pair<std::string, std::string>> described(const RegressorOptions& o) {
  const auto by_rows = [](uint64_t value) { return value == 0 ? "by the rows" : std::to_string(value); };
  const auto widths = [](const std::vector<uint32_t>& values) {
    return values == std::vector<uint32_t>{0} ? "by the rows" : fmt::format("{}", fmt::join(values, ","));
  };
  return {{"features", widths(o.features) + (widths(o.features) == "by the rows" ? " and a race" : "")},
          {"joint", fmt::format("{}", fmt::join(o.joint, ","))},
          {"normalizer", widths(o.normalizer)},
          {"input noise", o.input_noise ? fmt::format("{}", *o.input_noise) : "by a race"},
          {"components", std::to_string(o.components)},
          {"samples", std::to_string(o.samples)},
          {"epochs", by_rows(o.epochs)},
          {"rows per step", by_rows(o.batch)},
          {"warm-up", fmt::format("{}", o.warm_up)},
          {"learning rate",
           fmt::format("{}, {}", o.learning_rate == 0 ? "by the widths" : fmt::format("{}", o.learning_rate),
                       o.schedule)},
          {"weight decay", fmt::format("{}", o.weight_decay)},
          {"average", fmt::format("{}", o.average)},
          {"members", std::to_string(o.ensemble)}};
}

}  // namespace selfnorm
