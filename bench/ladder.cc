// The rung nearest on a head of K classes that is structured as trained heads are: how long its index takes
// and how much memory, and error against cost on fresh inputs. Usage: bench_ladder [K] The head, d = 256:
// 2,000 centres with coordinates N(0, 1/d), class k at a random centre plus 0.3 N(0, 1/d), biases of Zipf,
// -log(1 + a random rank). Inputs: s w_k + N(0, 1) of a random class, s uniform on 9 (0.6 .. 1.4).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "math/parallel.h"
#include "math/random.h"
#include "measure.h"
#include "normalizer/ladder/cluster_masses.h"
#include "normalizer/ladder/nearest_fit.h"
#include "selfnorm/runtime/scorer.h"

namespace selfnorm {
namespace {

constexpr uint32_t kFeatures = 256, kCentres = 2000;
constexpr uint64_t kInputs = 1500;

ModelFile large_head(uint32_t classes) {
  ModelFile out;
  out.input = ModelInput::Dense;
  out.classes = classes;
  out.features = kFeatures;
  out.weight.resize(size_t{classes} * kFeatures);
  out.bias.resize(classes);
  const double scale = 1 / std::sqrt(double{kFeatures});
  std::vector<float> centre(size_t{kCentres} * kFeatures);
  RandomStream random(1);
  for (float& v : centre) v = static_cast<float>(scale * random.normal());
  parallel_ranges(classes, 4096, [&](size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
      RandomStream own(2, k);
      const size_t c = own.below(kCentres);
      for (size_t j = 0; j < kFeatures; ++j)
        out.weight[k * kFeatures + j] =
            centre[c * kFeatures + j] + static_cast<float>(0.3 * scale * own.normal());
      out.bias[k] = -static_cast<float>(std::log1p(static_cast<double>(own.below(classes))));
    }
  });
  return out;
}

Features inputs_of(const ModelFile& model, uint64_t seed) {
  Features out;
  out.is_sparse = false;
  out.dense = {kInputs, kFeatures, std::vector<float>(kInputs * kFeatures)};
  for (uint64_t i = 0; i < kInputs; ++i) {
    RandomStream random(seed, i);
    const uint64_t k = random.below(model.classes);
    const double s = 9 * (0.6 + 0.8 * random.uniform());
    for (size_t j = 0; j < kFeatures; ++j)
      out.dense.values[i * kFeatures + j] =
          static_cast<float>(s * static_cast<double>(model.weight[k * kFeatures + j]) + random.normal());
  }
  return out;
}

void measure(uint32_t classes) {
  ModelFile model = large_head(classes);
  const Features fitted = inputs_of(model, 10), fresh = inputs_of(model, 11);
  const double head = 4.0 * static_cast<double>(model.weight.size()) / (1 << 20);
  const auto start = std::chrono::steady_clock::now();
  NearestOptions options;
  options.stops = {0.1, 0.05, 0.03, 0.02, 0.014};
  NearestFit fit = fit_nearest(model, fitted, options);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  fmt::print(
      "{} classes, {} features, {} clusters: index in {:.0f} s on {} threads, peak memory {:.2f} times the "
      "head\n",
      classes, kFeatures, fit.clusters.clusters(), spent.count(), allowed_threads(),
      bench::memory_mb("VmHWM") / head);
  model.ladder = {std::move(fit.rungs), std::move(fit.clusters)};
  const runtime::ModelLayout layout = layout_of(model);
  const runtime::Scorer scorer(layout);
  const std::vector<double> exact = exact_log_z(*make_class_scores(model, false), fresh);
  runtime::RungLayout whole;
  whole.kind = RungKind::Exact;
  runtime::Approximation a;
  double exact_seconds = kInfinity;
  for (uint64_t i = 0; i < 5; ++i) {
    const double begin = bench::processor_now();
    scorer.log_normalizer({fresh.dense.row(i)}, whole, &a);
    exact_seconds = std::min(exact_seconds, bench::processor_now() - begin);
  }
  fmt::print("  {:>12} {:>12} {:>12} {:>9} {:>8} {:>12}\n", "stop", "dot products", "microseconds",
             "x faster", "rms", "99.5% within");
  for (const runtime::RungLayout& rung : layout.ladder.rungs) {
    std::vector<double> size;
    double cost = 0, square = 0;
    const double begin = bench::processor_now();
    for (uint64_t i = 0; i < kInputs; ++i) {
      scorer.log_normalizer({fresh.dense.row(i)}, rung, &a);
      size.push_back(std::abs(a.log_z - exact[i]));
      cost += static_cast<double>(a.cost) / kInputs;
      square += size.back() * size.back() / kInputs;
    }
    const double seconds = (bench::processor_now() - begin) / kInputs;
    std::sort(size.begin(), size.end());
    fmt::print("  {:>12} {:>12.0f} {:>12.0f} {:>9.1f} {:>8.4f} {:>12.4f}\n", rung.stop, cost, 1e6 * seconds,
               exact_seconds / seconds, std::sqrt(square), size[kInputs * 995 / 1000]);
  }
  fmt::print("  {:>12} {:>12} {:>12.0f}\n", "exact", classes, 1e6 * exact_seconds);
}

}  // namespace
}  // namespace selfnorm

int main(int argc, char** argv) {
  selfnorm::measure(argc > 1 ? static_cast<uint32_t>(std::stoul(argv[1])) : 1'000'000);
}
