// Log-normalizers of n hidden states under a softmax head of K classes, on every core, against the bare
// OpenBLAS product H W^T on every core in the same run, taking turns (the product in row blocks, because the
// whole n x K matrix would not fit). Reproduce: bench_log_normalizers [N D K ROUNDS]
#include <cblas.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "math/random.h"
#include "measure.h"
#include "normalizer/class_moments.h"

namespace {

constexpr double kTarget = 1.15;
constexpr int kRowsAtOnce = 4096;

}  // namespace

int main(int count, char** argument) {
  int n = 20'000, d = 768, k = 50'000;
  if (count > 3) {
    n = std::atoi(argument[1]);
    d = std::atoi(argument[2]);
    k = std::atoi(argument[3]);
  }
  const int rounds = count > 4 ? std::atoi(argument[4]) : 2;
  const int cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));

  selfnorm::Features states;
  states.is_sparse = false;
  states.dense = {static_cast<uint64_t>(n), static_cast<uint32_t>(d),
                  bench::random_values(size_t(n) * d, 1, 0)};
  selfnorm::ModelFile head;
  head.input = selfnorm::ModelInput::Dense;
  head.classes = static_cast<uint32_t>(k);
  head.features = static_cast<uint32_t>(d);
  head.weight = bench::random_values(size_t(k) * d, 0.1f, 1);
  head.bias = bench::random_values(size_t(k), 0.1f, 2);
  const auto scores = selfnorm::make_class_scores(head, false);

  double mean = 0;
  const auto ours = [&] {
    openblas_set_num_threads(1);
    mean = 0;
    const selfnorm::ClassMoments moments = selfnorm::class_moments(*scores, states);
    for (const auto& row : moments.rows) mean += row.log_z() / n;
  };
  const double before = bench::memory_mb("VmRSS");
  ours();
  const double extra = bench::memory_mb("VmHWM") - before;

  std::vector<float> block(size_t(kRowsAtOnce) * k);
  const auto product = [&] {
    openblas_set_num_threads(cores);
    for (int first = 0; first < n; first += kRowsAtOnce) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, std::min(kRowsAtOnce, n - first), k, d, 1,
                  states.dense.row(static_cast<uint64_t>(first)).data(), d, head.weight.data(), d, 0,
                  block.data(), k);
    }
  };
  product();
  std::vector<double> our_times, product_times;
  for (int round = 0; round < rounds; ++round) {
    our_times.push_back(bench::seconds(ours));
    product_times.push_back(bench::seconds(product));
  }
  const double our = *std::min_element(our_times.begin(), our_times.end());
  const double bare = *std::min_element(product_times.begin(), product_times.end());
  fmt::print(
      "log-normalizers of {} states, d={} K={}, {} cores: {:.2f} s, bare OpenBLAS product {:.2f} s: {:.2f} "
      "x, target <= {:.2f}: {}\n",
      n, d, k, cores, our, bare, our / bare, kTarget, our / bare <= kTarget ? "MET" : "MISSED");
  fmt::print(
      "  peak memory beyond head and states: {:.0f} MB (the score matrix would be {:.0f} MB); mean log Z "
      "{:.4f}; best of {}\n",
      extra, double(n) * k * 4 / (1 << 20), mean, rounds);
  fmt::print("  reproduce: {}\n", fmt::join(argument, argument + count, " "));
  return 0;
}
