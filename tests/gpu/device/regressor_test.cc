// The training of regressors on this machine's GPU against the referee (gpu/regressor_reference.h), and the
// time of a step.
#include <random>

#include "gpu/regressor_reference.h"
#include "harness.h"

using namespace selfnorm::gpu;

namespace {

template <class A, class B>
void agree(const std::string& name, const char* what, const A& got, const B& wanted, double tolerance) {
  compare(name, what, std::vector<float>(got.begin(), got.end()),
          std::vector<double>(wanted.begin(), wanted.end()), tolerance);
}

struct Shape {
  int numbers, categorical, levels;
  std::vector<int> features, joint, normalizer;
  int components, targets, rows, samples, activation, objective;
  bool has_own_features = false, is_broad = false, has_weight = false, is_scale_shared = false;
  bool by_data = true, by_divergence = false;
  double tail_weight = 0.01;
};

selfnorm_dense_plan dense(int inputs, const std::vector<int>& widths) {
  selfnorm_dense_plan out = {};
  out.inputs = inputs;
  for (const int width : widths) out.widths[out.layers++] = width;
  return out;
}

selfnorm_regressor_plan plan_of(const Shape& s, int most_steps) {
  selfnorm_regressor_plan p = {};
  p.size = sizeof(p);
  p.features = dense(s.numbers, s.features);
  if (s.has_own_features) p.tilt_features = p.features;
  const int width = s.features.empty() ? s.numbers : s.features.back();
  p.mixture = dense(width, {s.components * (1 + 2 * s.targets)});
  p.context = dense(width, {s.joint.front()});
  p.tilt = dense(s.targets, s.joint);
  std::vector<int> normalizer = s.normalizer;
  normalizer.push_back(1);
  p.normalizer = dense(width, normalizer);
  p.numbers = s.numbers, p.categorical = s.categorical, p.levels = s.levels * s.categorical;
  p.activation = s.activation, p.has_tilt_features = s.has_own_features, p.has_tilt = 1;
  p.has_normalizer = 1;
  p.targets = s.targets, p.components = s.components, p.is_scale_shared = s.is_scale_shared;
  p.objective = s.objective, p.has_base = !s.is_broad;
  p.learns_from_data = s.by_data, p.learns_by_divergence = s.by_divergence;
  p.rows = s.rows, p.samples = s.samples, p.most_steps = most_steps, p.has_weight = s.has_weight;
  p.least_scale = 1e-3, p.spread = 1, p.broad_mean = 0, p.broad_scale = 3;
  p.tail_weight = s.tail_weight, p.defence = 0.1, p.clip = 0.5, p.decay = 1e-2;
  p.normalizer_rate = 3, p.average = 0.998;
  return p;
}

struct Data {
  std::vector<float> theta, numbers, targets;
  std::vector<uint32_t> levels;
  std::vector<double> weight, choice, normal;
  std::vector<selfnorm_regressor_at> at;

  selfnorm_regressor_run_of run(const selfnorm_regressor_plan& p, int first, int steps,
                                selfnorm_regressor_record* records, int32_t* taken) const {
    const size_t rows = static_cast<size_t>(first) * static_cast<size_t>(p.rows);
    const auto from = [rows](const auto& values, int each) {
      return values.data() + rows * static_cast<size_t>(each);
    };
    return {sizeof(selfnorm_regressor_run_of),
            steps,
            at.data() + first,
            from(numbers, p.numbers),
            from(levels, p.categorical),
            from(targets, p.targets),
            p.has_weight != 0 ? from(weight, 1) : nullptr,
            from(choice, p.samples),
            from(normal, p.samples * p.targets),
            records,
            taken};
  }
};

// Every third step has fewer rows, as the last of an epoch; the first two are warm.
Data data_of(const selfnorm_regressor_plan& p, int steps) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Data d;
  const RegressorLayout layout(p);
  d.theta.resize(static_cast<size_t>(layout.parameters));
  for (float& x : d.theta) x = static_cast<float>(0.1 * normal(random));
  for (int l = 0; l < layout.layers; ++l) {
    const RegressorLayer& layer = layout.layer[l];
    for (int i = 0; i < layer.in * layer.out; ++i)
      d.theta[static_cast<size_t>(layer.weight + i)] =
          static_cast<float>(normal(random) * std::sqrt(1.0 / layer.in));
  }
  const size_t rows = static_cast<size_t>(steps) * static_cast<size_t>(p.rows);
  d.numbers.resize(rows * static_cast<size_t>(p.numbers));
  d.targets.resize(rows * static_cast<size_t>(p.targets));
  d.weight.resize(rows);
  d.choice.resize(rows * static_cast<size_t>(p.samples));
  d.normal.resize(d.choice.size() * static_cast<size_t>(p.targets));
  for (float& x : d.numbers) x = static_cast<float>(normal(random));
  for (float& x : d.targets) x = static_cast<float>(normal(random));
  for (double& x : d.weight) x = 2 * uniform(random);
  for (double& x : d.choice) x = uniform(random) < p.defence ? -1 : uniform(random);
  for (double& x : d.normal) x = normal(random);
  for (size_t i = 0; i < rows * static_cast<size_t>(p.categorical); ++i) {
    const int each = p.levels / p.categorical;
    d.levels.push_back(static_cast<uint32_t>(static_cast<int>(i) % p.categorical * each +
                                             static_cast<int>(uniform(random) * each)));
  }
  for (int i = 0; i < steps; ++i)
    d.at.push_back({i, 1e-3, 2e-3, i % 3 == 2 ? (p.rows + 1) / 2 : p.rows, i < 2});
  return d;
}

void check_steps(const std::string& name, const Shape& shape) {
  constexpr int kSteps = 7;
  const selfnorm_regressor_plan p = plan_of(shape, kSteps);
  const Data d = data_of(p, kSteps);
  RegressorReference wanted(p);
  wanted.theta = wanted.average = d.theta;
  selfnorm_regressor* r = nullptr;
  must(selfnorm_regressor_open(context, &p, &r));
  const auto n = d.theta.size();
  std::vector<float> theta(n), average(n), mean(n), square(n), gradient(n);
  // Steps one by one, each from where the referee is.
  for (int i = 0; i < kSteps; ++i) {
    must(selfnorm_regressor_put(r, wanted.theta.data(), wanted.average.data(), wanted.mean.data(),
                                wanted.square.data()));
    selfnorm_regressor_record got = {}, expected = {};
    int32_t taken = 0;
    const auto run = d.run(p, i, 1, &got, &taken), other = d.run(p, i, 1, &expected, &taken);
    must(selfnorm_regressor_run(r, &run));
    wanted.run(other);
    must(selfnorm_regressor_get(r, theta.data(), average.data(), mean.data(), square.data()));
    must(selfnorm_regressor_gradient(r, gradient.data()));
    const std::string step = name + ", step " + std::to_string(i);
    agree(step, "gradient", gradient, wanted.gradient, 3e-5);
    agree(step, "theta", theta, wanted.theta, 1e-4);
    agree(step, "average", average, wanted.average, 1e-4);
    agree(step, "moments", square, wanted.square, 1e-4);
    agree(
        step, "numbers", std::vector<double>{got.loss, got.norm, got.b, got.log_ratio, got.effective},
        std::vector<double>{expected.loss, expected.norm, expected.b, expected.log_ratio, expected.effective},
        3e-5);
    agree(step, "event", std::vector<double>{static_cast<double>(got.event)}, std::vector<double>{0}, 0);
  }
  // The same steps as one run give the same bits twice.
  std::vector<float> again[2];
  const std::vector<float> zeros(n);
  RegressorReference whole(p);
  whole.theta = whole.average = d.theta;
  std::vector<selfnorm_regressor_record> records(kSteps);
  int32_t taken = 0;
  for (std::vector<float>& out : again) {
    must(selfnorm_regressor_put(r, d.theta.data(), d.theta.data(), zeros.data(), zeros.data()));
    const auto run = d.run(p, 0, kSteps, records.data(), &taken);
    must(selfnorm_regressor_run(r, &run));
    out.resize(n);
    must(selfnorm_regressor_get(r, out.data(), nullptr, nullptr, nullptr));
  }
  whole.run(d.run(p, 0, kSteps, records.data(), &taken));
  agree(name, "same bits", again[0], again[1], 0);
  agree(name, "one run", again[0], whole.theta, 2e-3);
  selfnorm_regressor_close(r);
}

// A step that is not finite is the last of its run, and moves nothing.
void check_events() {
  const Shape shape{3, 0, 0, {16}, {12, 12}, {}, 4, 1, 20, 9, kSilu, SELFNORM_SNL};
  const selfnorm_regressor_plan p = plan_of(shape, 6);
  Data d = data_of(p, 6);
  d.targets[static_cast<size_t>(3 * p.rows + 5)] = INFINITY;
  RegressorReference wanted(p);
  wanted.theta = wanted.average = d.theta;
  selfnorm_regressor* r = nullptr;
  must(selfnorm_regressor_open(context, &p, &r));
  must(selfnorm_regressor_put(r, d.theta.data(), d.theta.data(), nullptr, nullptr));
  std::vector<selfnorm_regressor_record> got(6), expected(6);
  int32_t taken = 0, unused = 0;
  const auto run = d.run(p, 0, 6, got.data(), &taken);
  must(selfnorm_regressor_run(r, &run));
  const int32_t expected_taken = wanted.run(d.run(p, 0, 6, expected.data(), &unused));
  std::vector<float> theta(d.theta.size());
  must(selfnorm_regressor_get(r, theta.data(), nullptr, nullptr, nullptr));
  agree("event", "taken", std::vector<double>{static_cast<double>(taken), static_cast<double>(got[3].event)},
        std::vector<double>{static_cast<double>(expected_taken), SELFNORM_STEP_DIVERGED}, 0);
  agree("event", "theta", theta, wanted.theta, 1e-3);
  selfnorm_regressor_close(r);
}

void time_steps(const char* name, const Shape& shape) {
  constexpr int kSteps = 64, kRuns = 20;
  const selfnorm_regressor_plan p = plan_of(shape, kSteps);
  Data d = data_of(p, kSteps);
  for (selfnorm_regressor_at& at : d.at) at.is_warm = 0, at.rows = p.rows;
  selfnorm_regressor* r = nullptr;
  must(selfnorm_regressor_open(context, &p, &r));
  must(selfnorm_regressor_put(r, d.theta.data(), d.theta.data(), nullptr, nullptr));
  std::vector<selfnorm_regressor_record> records(kSteps);
  int32_t taken = 0;
  const auto run = d.run(p, 0, kSteps, records.data(), &taken);
  for (int i = 0; i < 3; ++i) must(selfnorm_regressor_run(r, &run));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; ++i) must(selfnorm_regressor_run(r, &run));
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() /
      (kRuns * kSteps);
  std::printf("%-52s %.4f ms a step (runs of %d steps, copies included; taken %d)\n", name, ms, kSteps,
              taken);
  selfnorm_regressor_close(r);
}

}  // namespace

// `regressor_test small` leaves out what takes long under a tool that makes it slow.
int main(int argc, char**) {
  if (!open_first()) return 1;
  check_steps("3-16, 2 of 5 levels, snl", {3, 2, 5, {16}, {12, 9}, {}, 3, 1, 13, 7, kSilu, SELFNORM_SNL});
  Shape other{2, 0, 0, {}, {10}, {6, 5}, 1, 2, 9, 30, kTanh, SELFNORM_IS};
  other.by_divergence = other.has_weight = true;
  check_steps("linear, 2 targets, is, both", other);
  other = {2, 1, 4, {8, 7}, {9, 11}, {5}, 5, 1, 12, 45, kGelu, SELFNORM_NCE};
  other.has_own_features = other.is_scale_shared = true, other.tail_weight = 0;
  check_steps("own features, shared scale, nce", other);
  other = {4, 0, 0, {20, 9}, {16, 16, 16}, {}, 40, 3, 10, 5, kRelu, SELFNORM_RANKING};
  other.is_broad = true, other.by_data = false, other.by_divergence = true;
  check_steps("3 targets, ranking, broad, divergence", other);
  check_events();
  if (argc == 1) {
    check_steps("8-64-64 snl", {8, 0, 0, {64, 64}, {48, 48}, {32}, 8, 1, 128, 16, kSilu, SELFNORM_SNL});
    check_steps("30-100-100 softplus snl, more rows than blocks",
                {30, 3, 20, {100, 100}, {64, 64}, {32}, 8, 1, 300, 16, kSoftplus, SELFNORM_SNL});
    check_steps("8-600 snl", {8, 0, 0, {600}, {64, 64}, {32}, 8, 1, 40, 16, kSilu, SELFNORM_SNL});
    time_steps("snl of make bench: 128 rows, 8-64-64, 48-48, 16 draws",
               {8, 0, 0, {64, 64}, {48, 48}, {32}, 8, 1, 128, 16, kSilu, SELFNORM_SNL});
    time_steps("512 rows", {8, 0, 0, {64, 64}, {48, 48}, {32}, 8, 1, 512, 16, kSilu, SELFNORM_SNL});
  }
  selfnorm_cuda_close(context);
  std::printf("regressor_test: %d comparisons, %d failed\n", comparisons, failures);
  return failures == 0 ? 0 : 1;
}
