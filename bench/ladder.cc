// The ladder of a head of K classes that is structured as trained heads are: how long it takes and how much
// memory, and error against cost, certified on fresh inputs. Usage: bench_ladder [K] The head, d = 256:
// 2,000 centres with coordinates N(0, 1/d), class k at a random centre plus 0.3 N(0, 1/d), biases of Zipf,
// -log(1 + a random rank). Inputs: s w_k + N(0, 1) of a random class, s uniform on 9 (0.6 .. 1.4).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "family/classifier/normalize/ladder_fit.h"
#include "math/parallel.h"
#include "math/random.h"
#include "measure.h"

namespace selfnorm {
namespace {

constexpr uint32_t kFeatures = 256, kCentres = 2000;
constexpr uint64_t kInputs = 4000;

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

std::unique_ptr<ExampleSource> source_of(Features inputs) {
  Dataset out;
  out.features = std::move(inputs);
  out.target.assign(kInputs, Dataset::kNoTarget);
  return make_example_source(std::move(out));
}

void measure(uint32_t classes) {
  const ModelFile model = large_head(classes);
  const auto fitted = source_of(inputs_of(model, 10)), fresh = source_of(inputs_of(model, 11));
  const double head = 4.0 * static_cast<double>(model.weight.size()) / (1 << 20);
  const auto start = std::chrono::steady_clock::now();
  const double processor = bench::processor_now();
  const LadderFit fit = fit_ladder(model, *fitted, *fresh, {.keep_all = true});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  const ClassClusters& c = fit.ladder.clusters;
  const double index = 4.0 * static_cast<double>(c.centroid.size() + c.order.size() + c.bias.size()) +
                       2.0 * static_cast<double>(c.rows.size());
  fmt::print(
      "{} classes, {} features, {} clusters: ladder of {} inputs fitted and {} certified in {:.0f} s on {} "
      "threads ({:.0f} s of processor time; target 10 minutes on 2 cores); the index is {:.2f} times the "
      "head, peak "
      "memory of the process {:.2f} times, the head included (target 1.5 times to build the index)\n",
      classes, kFeatures, c.clusters(), fit.fitted, fit.certified, spent.count(), allowed_threads(),
      bench::processor_now() - processor, index / (head * (1 << 20)), bench::memory_mb("VmHWM") / head);
  fmt::print("  {:>14} {:>12} {:>12} {:>9} {:>8} {:>10} {:>10}\n", "rung", "dot products", "microseconds",
             "x faster", "rms", "99% within", "certified");
  for (const MeasuredRung& rung : fit.rungs)
    fmt::print("  {:>14} {:>12.0f} {:>12.0f} {:>9.1f} {:>8.4f} {:>10.4f} {:>10.4f}\n", rung.name, rung.cost,
               1e-3 * rung.nanoseconds, fit.exact().nanoseconds / rung.nanoseconds, rung.rms, rung.q99,
               rung.eps);
  double times = 1;  // as fast as exact
  for (const MeasuredRung& rung : fit.rungs)
    if (rung.eps <= 0.1) times = std::max(times, fit.exact().nanoseconds / rung.nanoseconds);
  fmt::print("  certified 0.1 at 1/{:.1f} of the exact time, target 1/50: {}\n", times,
             times >= 50 ? "MET" : "MISSED");
}

}  // namespace
}  // namespace selfnorm

int main(int argc, char** argv) {
  selfnorm::measure(argc > 1 ? static_cast<uint32_t>(std::stoul(argv[1])) : 1'000'000);
}
