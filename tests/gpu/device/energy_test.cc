// The training of network energies on this machine's GPU against the referee (gpu/energy_reference.h), and
// the time of a step.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gpu/energy_reference.h"

using namespace selfnorm::gpu;

namespace {

selfnorm_cuda_context* context = nullptr;
int comparisons = 0, failures = 0;

void must(int status) {
  if (status == 0) return;
  std::printf("FAILED  %s\n", selfnorm_cuda_error(context));
  std::exit(1);
}

template <class A, class B>
void compare(const std::string& name, const char* what, const A& got, const B& wanted, double tolerance) {
  double square = 0, norm = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - static_cast<double>(wanted[i]);
    square += difference * difference;
    norm += static_cast<double>(wanted[i]) * static_cast<double>(wanted[i]);
  }
  const double error = std::sqrt(square) / std::max(std::sqrt(norm), 1e-9);
  ++comparisons;
  if (error <= tolerance) return;
  ++failures;
  std::printf("FAILED  %-40s %-10s relative error %.2e, at most %.0e\n", name.c_str(), what, error,
              tolerance);
}

struct Shape {
  int inputs, fourier;
  std::vector<int> widths;
  int activation;
  bool is_residual;
  int objective, rows, samples;
  bool has_log_q;
};

selfnorm_energy_plan plan_of(const Shape& s, int most_steps) {
  selfnorm_energy_plan p = {};
  p.size = sizeof(p);
  p.inputs = s.inputs, p.fourier = s.fourier, p.layers = static_cast<int>(s.widths.size());
  for (size_t l = 0; l < s.widths.size(); ++l) p.widths[l] = s.widths[l];
  p.activation = s.activation, p.is_residual = s.is_residual, p.objective = s.objective;
  p.rows = s.rows, p.samples = s.samples, p.most_steps = most_steps, p.has_log_q = s.has_log_q;
  p.is_learned = 1, p.is_guarded = 1, p.remember_every = 3;
  p.clip = 0.5, p.decay = 1e-3, p.normalizer_rate = 10, p.drift = 1, p.memory = 0.98;
  p.healthy = 0.2, p.lost = 0.02, p.guard_rate = 0.05;
  return p;
}

struct Data {
  std::vector<float> theta, points;
  std::vector<double> log_q;
  std::vector<selfnorm_energy_at> at;
};

Data data_of(const selfnorm_energy_plan& p, int steps) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Data d;
  const EnergyLayout layout(p);
  d.theta.resize(static_cast<size_t>(layout.parameters));
  for (float& x : d.theta) x = 0.1f * normal(random);
  for (int l = 0; l < p.layers; ++l)
    for (int i = 0; i < layout.width[l] * layout.width[l + 1]; ++i)
      d.theta[static_cast<size_t>(layout.weight[l] + i)] =
          normal(random) * std::sqrt(2.0f / static_cast<float>(layout.width[l]));
  const size_t points = static_cast<size_t>(steps) * static_cast<size_t>(p.rows + p.samples);
  d.points.resize(points * static_cast<size_t>(p.inputs));
  for (float& x : d.points) x = normal(random);
  d.log_q.resize(points);
  for (double& x : d.log_q) x = 0.3 * static_cast<double>(normal(random));
  for (int i = 0; i < steps; ++i) d.at.push_back({i, 1e-3, i < 2, 0});
  return d;
}

selfnorm_energy* opened(const selfnorm_energy_plan& p, const Data& d, selfnorm_energy_state state) {
  selfnorm_energy* e = nullptr;
  must(selfnorm_energy_open(context, &p, &e));
  must(selfnorm_energy_put(e, d.theta.data(), nullptr, nullptr, nullptr, &state));
  return e;
}

constexpr int kSteps = 8;

void check_steps(const std::string& name, const Shape& shape) {
  const selfnorm_energy_plan p = plan_of(shape, kSteps);
  const Data d = data_of(p, kSteps);
  EnergyReference wanted(p);
  wanted.theta = d.theta;
  wanted.state.b = 0.1, wanted.state.guard_mean = wanted.state.guard_scale = 1;
  selfnorm_energy* const e = opened(p, d, wanted.state);
  const auto n = d.theta.size();
  std::vector<float> theta(n), mean(n), square(n), remembered(n), gradient(n);
  // Steps one by one, each from where the referee is.
  for (int i = 0; i < kSteps; ++i) {
    must(selfnorm_energy_put(e, wanted.theta.data(), wanted.mean.data(), wanted.square.data(),
                             wanted.remembered.data(), &wanted.state));
    const size_t points = static_cast<size_t>(i) * static_cast<size_t>(p.rows + p.samples);
    selfnorm_energy_record got = {}, expected = {};
    int32_t taken = 0, expected_taken = 0;
    selfnorm_energy_run_of run{sizeof(run),
                               1,
                               &d.at[static_cast<size_t>(i)],
                               d.points.data() + points * static_cast<size_t>(p.inputs),
                               shape.has_log_q ? d.log_q.data() + points : nullptr,
                               &got,
                               &taken};
    must(selfnorm_energy_run(e, &run));
    run.records = &expected, run.taken = &expected_taken;
    expected_taken = wanted.run(run);
    selfnorm_energy_state state = {};
    must(selfnorm_energy_get(e, theta.data(), mean.data(), square.data(), remembered.data(), &state));
    must(selfnorm_energy_gradient(e, gradient.data()));
    if (i >= 2) compare(name, "gradient", gradient, wanted.gradient, 2e-5);
    compare(name, "theta", theta, wanted.theta, 1e-4);
    compare(name, "remembered", remembered, wanted.remembered, 1e-7);
    const std::vector<double> numbers{got.loss,         got.norm,         got.b,      got.rate, state.b,
                                      state.guard_mean, state.mean_ratio, state.steps};
    const std::vector<double> others{expected.loss,           expected.norm,     expected.b,
                                     expected.rate,           wanted.state.b,    wanted.state.guard_mean,
                                     wanted.state.mean_ratio, wanted.state.steps};
    compare(name, "numbers", numbers, others, 2e-5);
    if (shape.objective == SELFNORM_SNL)
      compare(name, "draws", std::vector<double>{got.log_z, got.effective},
              std::vector<double>{expected.log_z, expected.effective}, 2e-5);
    compare(name, "event", std::vector<int64_t>{got.event, taken, state.is_halted},
            std::vector<int64_t>{expected.event, expected_taken, wanted.state.is_halted}, 0);
  }
  // The same steps as one run give the same bits twice; scores are those of the referee.
  std::vector<float> again[2];
  for (std::vector<float>& out : again) {
    selfnorm_energy_state start = {};
    start.b = 0.1, start.guard_mean = start.guard_scale = 1;
    const std::vector<float> zeros(n);
    must(selfnorm_energy_put(e, d.theta.data(), zeros.data(), zeros.data(), zeros.data(), &start));
    std::vector<selfnorm_energy_record> records(kSteps);
    int32_t taken = 0;
    const selfnorm_energy_run_of run{
        sizeof(run),    kSteps, d.at.data(), d.points.data(), shape.has_log_q ? d.log_q.data() : nullptr,
        records.data(), &taken};
    must(selfnorm_energy_run(e, &run));
    out.resize(n);
    must(selfnorm_energy_get(e, out.data(), nullptr, nullptr, nullptr, nullptr));
  }
  compare(name, "same bits", again[0], again[1], 0);
  compare(name, "one run", again[0], wanted.theta, 2e-3);
  std::vector<double> scores(100), others;
  wanted.theta = again[0];
  must(selfnorm_energy_scores(e, d.points.data(), 100, scores.data()));
  for (int i = 0; i < 100; ++i)
    others.push_back(wanted.point(d.points.data() + i * p.inputs, false, [](double) { return 0.0; }));
  compare(name, "scores", scores, others, 1e-5);
  selfnorm_energy_close(e);
}

// Events stop a run, and a move after a drift goes on from the gradient that is there.
void check_events() {
  const Shape shape{2, 0, {16}, kSilu, false, SELFNORM_SNL, 40, 100, false};
  selfnorm_energy_plan p = plan_of(shape, 4);
  const Data d = data_of(p, 4);
  for (const int event : {SELFNORM_STEP_DRIFTED, SELFNORM_STEP_LOST, SELFNORM_STEP_DIVERGED}) {
    p.drift = event == SELFNORM_STEP_DRIFTED ? 1e-4 : 100;
    EnergyReference wanted(p);
    wanted.theta = d.theta;
    wanted.state.b = event == SELFNORM_STEP_DIVERGED ? -1e4 : 0.5;
    wanted.state.guard_mean = event == SELFNORM_STEP_LOST ? 0.0 : 1.0;
    wanted.state.guard_scale = 1;
    p.lost = event == SELFNORM_STEP_LOST ? 0.06 : 1e-9;
    const EnergyReference start = wanted;
    EnergyReference other(p);
    other.theta = start.theta, other.state = start.state;
    selfnorm_energy* const e = opened(p, d, start.state);
    std::vector<selfnorm_energy_record> got(4), expected(4);
    int32_t taken = 0, expected_taken = 0;
    selfnorm_energy_run_of run{sizeof(run), 4, d.at.data(), d.points.data(), nullptr, got.data(), &taken};
    must(selfnorm_energy_run(e, &run));
    run.records = expected.data();
    expected_taken = other.run(run);
    const std::string name = "event " + std::to_string(event);
    compare(name, "taken", std::vector<int>{taken}, std::vector<int>{expected_taken}, 0);
    compare(name, "event", std::vector<int64_t>{got[static_cast<size_t>(taken - 1)].event},
            std::vector<int64_t>{event}, 0);
    if (event == SELFNORM_STEP_DRIFTED) {
      selfnorm_energy_state state = {};
      must(selfnorm_energy_get(e, nullptr, nullptr, nullptr, nullptr, &state));
      state.is_halted = other.state.is_halted = 0;
      state.b = other.state.b = 0.7, state.mean_ratio = other.state.mean_ratio = 0;
      must(selfnorm_energy_put(e, nullptr, nullptr, nullptr, nullptr, &state));
      selfnorm_energy_at at = d.at[static_cast<size_t>(taken - 1)];
      at.is_continued = 1, at.rate = got[static_cast<size_t>(taken - 1)].rate;
      selfnorm_energy_record none = {};
      selfnorm_energy_run_of rest{sizeof(rest), 1, &at, nullptr, nullptr, &none, &taken};
      must(selfnorm_energy_run(e, &rest));
      other.run(rest);
      std::vector<float> theta(d.theta.size());
      must(selfnorm_energy_get(e, theta.data(), nullptr, nullptr, nullptr, &state));
      compare(name, "theta", theta, other.theta, 1e-5);
      compare(name, "b", std::vector<double>{state.b, state.steps},
              std::vector<double>{other.state.b, other.state.steps}, 1e-6);
    }
    selfnorm_energy_close(e);
  }
}

void time_steps(const char* name, const Shape& shape) {
  constexpr int kSteps = 42, kRuns = 20;
  selfnorm_energy_plan p = plan_of(shape, kSteps);
  p.lost = 0, p.drift = 1e9;
  Data d = data_of(p, kSteps);
  for (selfnorm_energy_at& at : d.at) at.is_warm = 0;
  selfnorm_energy_state state = {};
  state.guard_mean = state.guard_scale = 1;
  selfnorm_energy* const e = opened(p, d, state);
  std::vector<selfnorm_energy_record> records(kSteps);
  int32_t taken = 0;
  const selfnorm_energy_run_of run{
      sizeof(run),    kSteps, d.at.data(), d.points.data(), shape.has_log_q ? d.log_q.data() : nullptr,
      records.data(), &taken};
  for (int i = 0; i < 3; ++i) must(selfnorm_energy_run(e, &run));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; ++i) must(selfnorm_energy_run(e, &run));
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() /
      (kRuns * kSteps);
  std::printf("%-44s %.4f ms a step (runs of %d steps, copies included; taken %d)\n", name, ms, kSteps,
              taken);
  selfnorm_energy_close(e);
}

}  // namespace

// `energy_test small` leaves out what takes long under a tool that makes it slow.
int main(int argc, char**) {
  char error[512] = "";
  context = selfnorm_cuda_open(0, error, sizeof(error));
  if (context == nullptr) {
    std::printf("%s\n", error);
    return 1;
  }
  if (argc == 1) {
    check_steps("2-128-128 snl", {2, 0, {128, 128}, kSilu, false, SELFNORM_SNL, 256, 1024, false});
    check_steps("2-128-128 fourier 64 snl", {2, 64, {128, 128}, kSilu, false, SELFNORM_SNL, 100, 333, false});
    check_steps("3-64-64-64 residual gelu snl log q",
                {3, 8, {64, 64, 64}, kGelu, true, SELFNORM_SNL, 77, 300, true});
    check_steps("69-256-256 relu snl", {69, 0, {256, 256}, kRelu, false, SELFNORM_SNL, 50, 100, false});
    check_steps("2-600-20 snl", {2, 0, {600, 20}, kSilu, false, SELFNORM_SNL, 20, 30, false});
    check_steps("2-16 many points", {2, 0, {16}, kSilu, false, SELFNORM_SNL, 3000, 5000, false});
  }
  check_steps("2-40-40 residual fourier 5 snl log q",
              {2, 5, {40, 40}, kGelu, true, SELFNORM_SNL, 13, 20, true});
  check_steps("5-17-33-9 tanh nce log q", {5, 0, {17, 33, 9}, kTanh, false, SELFNORM_NCE, 31, 97, true});
  check_steps("1-40 softplus nce", {1, 0, {40}, kSoftplus, false, SELFNORM_NCE, 64, 64, true});
  check_events();
  if (argc == 1) {
    time_steps("snl 2-128-128-1, 256 + 1,024 points",
               {2, 0, {128, 128}, kSilu, false, SELFNORM_SNL, 256, 1024, false});
    time_steps("with 64 Fourier features, 512 + 1,024",
               {2, 64, {128, 128}, kSilu, false, SELFNORM_SNL, 512, 1024, false});
  }
  selfnorm_cuda_close(context);
  std::printf("energy_test: %d comparisons, %d failed\n", comparisons, failures);
  return failures == 0 ? 0 : 1;
}
