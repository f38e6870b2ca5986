// Exact loss and gradient of the penalty objective, dense n x d with K classes, on every core, against the
// bare OpenBLAS products of the same shapes on every core:
//     S = X W (n x d x K),      X^T P (d x n x K),      P W^T (n x K x d)
// in the same run, taking turns. The last product is what a gradient by the inputs would need; selfnorm needs
// only the first two, so both ratios are printed. Also: the peak of memory beyond data, parameters and
// gradient. Reproduce: bench_loss_gradient [N D K ROUNDS]
#include <cblas.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "math/random.h"
#include "measure.h"
#include "normalizer/problem.h"
#include "objective/loss.h"
#include "objective/penalty.h"

namespace {

constexpr double kTarget = 1.25;

struct Shape {
  int n = 20'000, d = 256, k = 10'000;
};

void products(const Shape& s, const float* x, const float* w, float* p, float* gradient, float* d_x) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s.n, s.k, s.d, 1, x, s.d, w, s.k, 0, p, s.k);
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, s.d, s.k, s.n, 1, x, s.d, p, s.k, 0, gradient, s.k);
  if (d_x != nullptr)
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, s.n, s.d, s.k, 1, p, s.k, w, s.k, 0, d_x, s.d);
}

}  // namespace

int main(int count, char** argument) {
  Shape s;
  if (count > 3) s = {std::atoi(argument[1]), std::atoi(argument[2]), std::atoi(argument[3])};
  const int rounds = count > 4 ? std::atoi(argument[4]) : 5;
  const int cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const auto n = static_cast<size_t>(s.n), d = static_cast<size_t>(s.d), k = static_cast<size_t>(s.k);

  selfnorm::Dataset data;
  data.features.is_sparse = false;
  data.features.dense = {n, static_cast<uint32_t>(d), bench::random_values(n * d, 1, 0)};
  selfnorm::RandomStream random(1, 1);
  for (size_t i = 0; i < n; ++i) data.target.push_back(static_cast<uint32_t>(random.below(k)));
  const std::vector<float> theta = bench::random_values((d + 1) * k, 0.1f, 2);
  std::vector<float> gradient(theta.size(), 1.0f);

  const auto pass =
      selfnorm::make_exact_pass<float>(data, static_cast<uint32_t>(d), static_cast<uint32_t>(k), {});
  const selfnorm::Penalty objective(0.1);
  double loss = 0;
  const auto ours = [&] {
    openblas_set_num_threads(1);
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    loss =
        selfnorm::value_and_gradient<float>(
            *pass, objective, {.weight = {}, .gradient_scale = 1 / static_cast<double>(n)}, theta, gradient)
            .mean_loss();
  };
  const double before = bench::memory_mb("VmRSS");
  ours();
  const double extra = bench::memory_mb("VmHWM") - before;

  std::vector<float> p(n * k), d_x(n * d), product(d * k);
  const auto three = [&](float* last) {
    return [&, last] {
      openblas_set_num_threads(cores);
      products(s, data.features.dense.values.data(), theta.data(), p.data(), product.data(), last);
    };
  };
  std::vector<double> our_times, two_times, three_times;
  three(d_x.data())();
  for (int round = 0; round < rounds; ++round) {
    our_times.push_back(bench::seconds(ours));
    three_times.push_back(bench::seconds(three(d_x.data())));
    two_times.push_back(bench::seconds(three(nullptr)));
  }
  const auto least = [](const std::vector<double>& t) { return *std::min_element(t.begin(), t.end()); };
  const double ratio = least(our_times) / least(three_times);
  fmt::print(
      "exact loss and gradient, n={} d={} K={}, {} cores: {:.3f} s, three bare OpenBLAS products {:.3f} s: "
      "{:.2f} x, target <= {:.2f}: {}\n",
      s.n, s.d, s.k, cores, least(our_times), least(three_times), ratio, kTarget,
      ratio <= kTarget ? "MET" : "MISSED");
  fmt::print("  ({:.2f} x the two products it needs, {:.3f} s; loss {:.6f}; best of {})\n",
             least(our_times) / least(two_times), least(two_times), loss, rounds);
  fmt::print(
      "  peak memory beyond data, parameters and gradient: {:.0f} MB, OpenBLAS' own buffers included, "
      "target < 128: {}   (the n x K matrix would be {:.0f} MB)\n",
      extra, extra < 128 ? "MET" : "MISSED", static_cast<double>(n * k * 4) / (1 << 20));
  fmt::print("  reproduce: {}\n", fmt::join(argument, argument + count, " "));
  return 0;
}
