#include "family/regressor/train/device_regressor.h"

#include <algorithm>
#include <numeric>

#include "base/failure.h"
#include "math/activation.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

constexpr size_t kMostDeviceLayers = 8;  // of a network

selfnorm_dense_plan dense_plan(uint32_t inputs, const std::vector<uint32_t>& widths) {
  selfnorm_dense_plan out = {};
  out.inputs = static_cast<int32_t>(inputs);
  for (const uint32_t width : widths) out.widths[out.layers++] = static_cast<int32_t>(width);
  return out;
}

// Why a GPU cannot train members of the problem; empty: it can.
std::string obstacle(const RegressorProblem& problem) {
  const RegressorOptions& o = problem.options();
  const ObjectiveEntry& objective = objective_entry(o.objective);
  const bool is_known = objective.device_formula >= 0 && !objective.jitters_target;
  if (objective.seam != ObjectiveSeam::proposal && !is_known)
    return fmt::format("found the objective {}, expected mdn, snl, nce, is or ranking-nce", o.objective);
  if (!o.module.empty()) return "found features by a module";
  if (!problem.ends().low.empty())
    return "found a target that is a count, an order or an interval, expected numbers";
  if (problem.mixture().is_bounded()) return "found a target with bounds";
  if (o.features.empty() && !problem.model().encoder.levels().empty())
    return "found columns of levels without a feature network";
  for (const auto* widths : {&o.features, &o.joint, &o.normalizer})
    if (widths->size() > kMostDeviceLayers)
      return fmt::format("found a network of {} layers, expected at most {}", widths->size(),
                         kMostDeviceLayers);
  return {};
}

selfnorm_regressor_plan regressor_plan(const RegressorProblem& problem, const RegressorNetworks& networks) {
  const RegressorOptions& o = problem.options();
  const MixtureShape& mixture = problem.mixture().shape();
  const std::vector<uint32_t> levels = problem.model().encoder.levels();
  const uint32_t numbers = problem.model().encoder.numeric_inputs(), width = networks.features->width();
  selfnorm_regressor_plan p = {};
  p.size = sizeof(p);
  p.features = dense_plan(numbers, o.features);
  p.mixture = dense_plan(width, {mixture.parameters()});
  p.has_tilt = networks.tilt ? 1 : 0;
  if (networks.tilt) {
    p.has_tilt_features = networks.tilt_features ? 1 : 0;
    if (networks.tilt_features) p.tilt_features = p.features;
    p.context = dense_plan(width, {o.joint.front()});
    p.tilt = dense_plan(mixture.dimension, o.joint);
    p.samples = static_cast<int32_t>(o.samples);
    p.objective = objective_entry(o.objective).device_formula;
  }
  if (networks.normalizer) {
    p.has_normalizer = 1;
    p.normalizer = dense_plan(width, networks.normalizer->shape().widths);
  }
  p.numbers = static_cast<int32_t>(numbers);
  p.categorical = static_cast<int32_t>(levels.size());
  p.levels = static_cast<int32_t>(std::accumulate(levels.begin(), levels.end(), 0u));
  p.activation = static_cast<int32_t>(activation_of(o.activation));
  p.targets = static_cast<int32_t>(mixture.dimension);
  p.components = static_cast<int32_t>(mixture.components);
  p.is_scale_shared = o.shared_scale ? 1 : 0;
  p.has_base = o.base == "proposal" ? 1 : 0;
  p.learns_from_data = o.learn_proposal != "kl" ? 1 : 0;
  p.learns_by_divergence = o.learn_proposal != "data" ? 1 : 0;
  p.most_steps = DeviceRuns<DeviceRegressorRows, selfnorm_regressor_record>::kMostSteps;
  p.has_weight = o.weight.empty() ? 0 : 1;
  p.least_scale = mixture.least_scale, p.spread = mixture.spread;
  p.broad_mean = mixture.broad_mean, p.broad_scale = mixture.broad_scale;
  p.tail_weight = o.tail_weight, p.defence = o.defence;
  p.clip = o.clip, p.decay = o.weight_decay, p.normalizer_rate = o.normalizer_rate, p.average = o.average;
  return p;
}

}  // namespace

std::unique_ptr<DeviceRegressor> DeviceRegressor::on_chosen_device(const RegressorProblem& problem,
                                                                   const RegressorNetworks& networks,
                                                                   DeviceRegressorOptions options) {
  const DeviceChoice choice = chosen_device();
  if (choice.device == nullptr) return nullptr;
  if (const std::string why = obstacle(problem); !why.empty()) {
    if (choice.is_required)
      throw_error("a GPU cannot train this regressor: {}; use `device cpu` or auto", why);
    return nullptr;
  }
  selfnorm_regressor_plan plan = regressor_plan(problem, networks);
  plan.rows = static_cast<int32_t>(options.rows);
  SELFNORM_CHECK(static_cast<uint64_t>(choice.device->module().selfnorm_regressor_parameters(&plan)) ==
                 options.parameters);
  try {
    return std::unique_ptr<DeviceRegressor>(new DeviceRegressor(*choice.device, plan, std::move(options)));
  } catch (const Error& error) {
    if (choice.is_required) throw;
    return nullptr;
  }
}

std::string DeviceRegressor::name_for(const RegressorProblem& problem) {
  const DeviceChoice choice = chosen_device();
  return choice.device != nullptr && obstacle(problem).empty() ? choice.device->name() : "";
}

DeviceRegressor::DeviceRegressor(const GpuDevice& device, const selfnorm_regressor_plan& plan,
                                 DeviceRegressorOptions options)
    : device_(device),
      options_(std::move(options)),
      plan_(plan),
      runs_({options_.end,
             [this](uint64_t first, uint64_t steps, DeviceRegressorRows& out) { prepare(first, steps, out); },
             [this](const DeviceRegressorRows& rows, std::span<selfnorm_regressor_record> records) {
               return run(rows, records);
             }}) {
  device.must(device.module().selfnorm_regressor_open(device.context(), &plan, &regressor_));
  note_use(device);
}

DeviceRegressor::~DeviceRegressor() { device_.module().selfnorm_regressor_close(regressor_); }

void DeviceRegressor::prepare(uint64_t first, uint64_t steps, DeviceRegressorRows& out) const {
  const auto whole = [](int32_t n) { return static_cast<uint64_t>(n); };
  const uint64_t rows = options_.rows, draws = rows * whole(plan_.samples);
  out.at.clear();
  const auto room = [&](auto& values, uint64_t each) {
    values.resize(steps * each);
    return [&values, each](uint64_t i) { return std::span(values).subspan(i * each, each); };
  };
  const auto number = room(out.number, rows * whole(plan_.numbers)),
             target = room(out.target, rows * whole(plan_.targets));
  const auto level = room(out.level, rows * whole(plan_.categorical));
  const auto weight = room(out.weight, plan_.has_weight != 0 ? rows : 0), choice = room(out.choice, draws),
             normal = room(out.normal, draws * whole(plan_.targets));
  for (uint64_t i = 0; i < steps; ++i)
    out.at.push_back(
        options_.read(first + i, {number(i), target(i), level(i), weight(i), choice(i), normal(i)}));
}

int32_t DeviceRegressor::run(const DeviceRegressorRows& rows,
                             std::span<selfnorm_regressor_record> records) const {
  int32_t taken = 0;
  const selfnorm_regressor_run_of run{.size = sizeof(run),
                                      .steps = static_cast<int32_t>(records.size()),
                                      .at = rows.at.data(),
                                      .numbers = rows.number.data(),
                                      .levels = rows.level.data(),
                                      .targets = rows.target.data(),
                                      .weight = plan_.has_weight != 0 ? rows.weight.data() : nullptr,
                                      .choice = rows.choice.data(),
                                      .normal = rows.normal.data(),
                                      .records = records.data(),
                                      .taken = &taken};
  device_.must(device_.module().selfnorm_regressor_run(regressor_, &run));
  return taken;
}

void DeviceRegressor::put(const Parameters& from) {
  const auto data = [](std::span<float> values) { return values.empty() ? nullptr : values.data(); };
  device_.must(device_.module().selfnorm_regressor_put(regressor_, data(from.theta), data(from.average),
                                                       data(from.mean), data(from.square)));
  runs_.forget();
}

void DeviceRegressor::get(const Parameters& to) const {
  const auto data = [](std::span<float> values) { return values.empty() ? nullptr : values.data(); };
  device_.must(device_.module().selfnorm_regressor_get(regressor_, data(to.theta), data(to.average),
                                                       data(to.mean), data(to.square)));
}

}  // namespace selfnorm
