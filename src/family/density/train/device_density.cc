#include "family/density/train/device_density.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/failure.h"
#include "math/activation.h"

namespace selfnorm {
namespace {

// The plan of an energy that the device knows; else why it does not.
std::optional<selfnorm_energy_plan> energy_plan(const Energy& energy, std::string& why) {
  const EnergyRecord record = energy.record();
  if (record.kind != "mlp") {
    why = fmt::format("found the energy {}, expected mlp", record.kind);
    return std::nullopt;
  }
  const nlohmann::json settings = nlohmann::json::parse(record.settings);
  if (settings["spectral_norm"].get<bool>()) {
    why = "found spectral-norm";
    return std::nullopt;
  }
  if (settings.contains("directions")) {
    why = "found angles, the sphere or a mixed table";
    return std::nullopt;
  }
  selfnorm_energy_plan plan = {};
  plan.size = sizeof(plan);
  plan.inputs = static_cast<int32_t>(energy.dimension());
  plan.fourier = settings["fourier"].get<int32_t>();
  for (const auto& width : settings["widths"]) plan.widths[plan.layers++] = width.get<int32_t>();
  plan.activation = static_cast<int32_t>(activation_of(settings["activation"].get<std::string>()));
  plan.is_residual = settings["residual"].get<bool>() ? 1 : 0;
  return plan;
}

}  // namespace

std::unique_ptr<DeviceDensity> DeviceDensity::on_chosen_device(DensityProblem& problem,
                                                               DeviceDensityOptions options) {
  const DeviceChoice choice = chosen_device();
  if (choice.device == nullptr) return nullptr;
  const DensityOptions& o = problem.options();
  std::string why;
  std::optional<selfnorm_energy_plan> plan;
  if (options.objective < 0 || options.objective > SELFNORM_NCE)
    why = fmt::format("found the objective {}, expected snl or nce", o.objective);
  else if (o.learn_proposal != "none")
    why = "found a proposal that is learned";
  else
    plan =
        energy_plan(problem.cancelled_tilt() != nullptr ? *problem.cancelled_tilt() : problem.energy(), why);
  if (plan) {
    plan->objective = options.objective;
    plan->rows = static_cast<int32_t>(options.rows);
    plan->samples = static_cast<int32_t>(o.samples);
    plan->most_steps = DeviceRuns<Prepared, selfnorm_energy_record>::kMostSteps;
    plan->has_log_q = options.has_log_q;
    plan->is_learned = options.is_learned;
    plan->is_guarded = options.is_guarded;
    plan->remember_every = static_cast<int32_t>(options.remember_every);
    plan->clip = o.clip, plan->decay = o.weight_decay, plan->normalizer_rate = o.normalizer_rate,
    plan->drift = o.drift;
    plan->memory = options.memory, plan->healthy = options.healthy, plan->lost = options.lost;
    plan->guard_rate = options.guard_rate;
    try {
      return std::unique_ptr<DeviceDensity>(
          new DeviceDensity(*choice.device, problem, *plan, std::move(options)));
    } catch (const Error& error) {
      if (choice.is_required) throw;
      return nullptr;
    }
  }
  if (choice.is_required) throw_error("a GPU cannot train this density: {}; use `device cpu` or auto", why);
  return nullptr;
}

DeviceDensity::DeviceDensity(const GpuDevice& device, DensityProblem& problem,
                             const selfnorm_energy_plan& plan, DeviceDensityOptions options)
    : device_(device),
      problem_(problem),
      options_(std::move(options)),
      plan_(plan),
      runs_({options_.end,
             [this](uint64_t first, uint64_t steps, Prepared& out) { prepare(first, steps, out); },
             [this](const Prepared& prepared, std::span<selfnorm_energy_record> records) {
               return run(prepared, records);
             }}) {
  SELFNORM_CHECK(static_cast<uint64_t>(device.module().selfnorm_energy_parameters(&plan)) ==
                 problem.energy().parameters().size());
  device.must(device.module().selfnorm_energy_open(device.context(), &plan, &energy_));
  note_use(device);
}

DeviceDensity::~DeviceDensity() { device_.module().selfnorm_energy_close(energy_); }

void DeviceDensity::prepare(uint64_t first, uint64_t steps, Prepared& out) const {
  const uint64_t points = options_.rows + static_cast<uint64_t>(plan_.samples);
  const uint64_t numbers = points * static_cast<uint64_t>(plan_.inputs);
  out.points.resize(steps * numbers);
  out.log_q.resize(options_.has_log_q ? steps * points : 0);
  out.at.clear();
  for (uint64_t i = 0; i < steps; ++i) {
    options_.points(
        first + i, std::span(out.points).subspan(i * numbers, numbers),
        options_.has_log_q ? std::span(out.log_q).subspan(i * points, points) : std::span<double>());
    out.at.push_back(options_.at(first + i));
  }
}

int32_t DeviceDensity::run(const Prepared& prepared, std::span<selfnorm_energy_record> records) const {
  int32_t taken = 0;
  const selfnorm_energy_run_of run{.size = sizeof(run),
                                   .steps = static_cast<int32_t>(records.size()),
                                   .at = prepared.at.data(),
                                   .points = prepared.points.data(),
                                   .log_q = options_.has_log_q ? prepared.log_q.data() : nullptr,
                                   .records = records.data(),
                                   .taken = &taken};
  device_.must(device_.module().selfnorm_energy_run(energy_, &run));
  return taken;
}

void DeviceDensity::continue_from(uint64_t at, double rate) {
  selfnorm_energy_at step = options_.at(at);
  step.rate = rate;
  step.is_continued = 1;
  selfnorm_energy_record unused = {};
  int32_t taken = 0;
  const selfnorm_energy_run_of run{.size = sizeof(run),
                                   .steps = 1,
                                   .at = &step,
                                   .points = nullptr,
                                   .log_q = nullptr,
                                   .records = &unused,
                                   .taken = &taken};
  device_.must(device_.module().selfnorm_energy_run(energy_, &run));
  forget();
}

void DeviceDensity::score(const Points& x, std::span<double> s) const {
  device_.must(
      device_.module().selfnorm_energy_scores(energy_, x.data, static_cast<int64_t>(x.rows), s.data()));
}

void DeviceDensity::pull() {
  device_.must(device_.module().selfnorm_energy_get(energy_, problem_.energy().parameters().data(), nullptr,
                                                    nullptr, nullptr, nullptr));
  problem_.energy().parameters_changed();
}

void DeviceDensity::push() {
  device_.must(device_.module().selfnorm_energy_put(energy_, problem_.energy().parameters().data(), nullptr,
                                                    nullptr, nullptr, nullptr));
}

DeviceDensity::Rest DeviceDensity::rest() const {
  Rest out;
  const size_t n = problem_.energy().parameters().size();
  for (std::vector<float>* values : {&out.mean, &out.square, &out.remembered}) values->resize(n);
  device_.must(device_.module().selfnorm_energy_get(energy_, nullptr, out.mean.data(), out.square.data(),
                                                    out.remembered.data(), &out.state));
  if (out.state.is_remembered == 0) out.remembered.clear();
  return out;
}

void DeviceDensity::put(const Rest& rest) {
  device_.must(device_.module().selfnorm_energy_put(
      energy_, nullptr, rest.mean.data(), rest.square.data(),
      rest.remembered.empty() ? nullptr : rest.remembered.data(), &rest.state));
}

selfnorm_energy_state DeviceDensity::state() const {
  selfnorm_energy_state out = {};
  device_.must(device_.module().selfnorm_energy_get(energy_, nullptr, nullptr, nullptr, nullptr, &out));
  return out;
}

void DeviceDensity::put(const selfnorm_energy_state& state) {
  device_.must(device_.module().selfnorm_energy_put(energy_, nullptr, nullptr, nullptr, nullptr, &state));
}

}  // namespace selfnorm
