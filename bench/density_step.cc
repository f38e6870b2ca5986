// The training step of a density by snl: 1,024 points from a diagonal Gaussian, a minibatch of data, scores,
// weights exp(s - log q - b) / M, gradient, Adam. bench/density_step.py measures the same step in PyTorch in
// the same run. Prints "steps per second, mean objective of the last 200 steps" of one network.
// Reproduce: bench_density_step WIDTHS FOURIER BATCH STEPS THREADS, e.g. 128,128 0 256 2000 2
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "math/parallel.h"
#include "measure.h"
#include "model/energy/mlp.h"
#include "optim/adaptive.h"
#include "proposal/density/make_density.h"

namespace {

using namespace selfnorm;

constexpr uint64_t kSamples = 1024, kData = 10'000, kLast = 200, kGrain = 4096;
constexpr double kRate = 1e-3;

// Two round clusters at (+-1.5, 0), of standard deviation 0.5.
std::vector<float> clusters() {
  RandomStream random(5);
  std::vector<float> out(2 * kData);
  for (uint64_t i = 0; i < kData; ++i) {
    out[2 * i] = static_cast<float>((i % 2 == 0 ? 1.5 : -1.5) + 0.5 * random.normal());
    out[2 * i + 1] = static_cast<float>(0.5 * random.normal());
  }
  return out;
}

class Step {
 public:
  Step(const MlpOptions& options, uint64_t batch)
      : batch_(batch),
        data_(clusters()),
        proposal_(make_density({"gaussian-diagonal", {{"mean", {0, 0}}, {"root", {0.5, 0.5}}}}, 2)),
        energy_(make_mlp(2, options, 1)),
        pass_(energy_->make_pass()),
        adam_("adam", energy_->parameters().size(), 0),
        adam_b_("adam", 1, 0),
        rows_(2 * (batch + kSamples)),
        log_q_(kSamples),
        d_(batch + kSamples),
        gradient_(energy_->parameters().size()) {}

  // The objective, mean of s - b over the data - mean of the weights + 1.
  double operator()() {
    for (uint64_t i = 0; i < batch_; ++i)
      std::copy_n(data_.begin() + static_cast<ptrdiff_t>(2 * random_.below(kData)), 2, &rows_[2 * i]);
    sample_density(*proposal_, ++steps_, std::span<float>(rows_).subspan(2 * batch_), log_q_);
    const std::span<const double> s = pass_->forward({rows_.data(), batch_ + kSamples, 2});
    double mean_score = 0, r = 0;
    for (uint64_t i = 0; i < batch_; ++i) {
      mean_score += s[i] / static_cast<double>(batch_);
      d_[i] = -1 / static_cast<double>(batch_);
    }
    for (uint64_t i = 0; i < kSamples; ++i)
      r += d_[batch_ + i] =
          std::exp(s[batch_ + i] - log_q_[i] - static_cast<double>(b_)) / static_cast<double>(kSamples);
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    pass_->backward(d_, gradient_);
    const double objective = mean_score - static_cast<double>(b_) - r + 1;
    adam_.begin_step();
    parallel_ranges(gradient_.size(), kGrain, [&](size_t begin, size_t end) {
      adam_.update(energy_->parameters(), begin,
                   std::span<const float>(gradient_).subspan(begin, end - begin), kRate, 0);
    });
    energy_->parameters_changed();
    const float d_b = static_cast<float>(1 - r);
    adam_b_.begin_step();
    adam_b_.update({&b_, 1}, 0, {&d_b, 1}, kRate, 0);
    return objective;
  }

 private:
  uint64_t batch_, steps_ = 0;
  RandomStream random_{3};
  std::vector<float> data_;
  std::unique_ptr<Density> proposal_;
  std::unique_ptr<Energy> energy_;
  std::unique_ptr<EnergyPass> pass_;
  Adaptive<float> adam_, adam_b_;
  float b_ = 0;
  std::vector<float> rows_;
  std::vector<double> log_q_, d_;
  std::vector<float> gradient_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: bench_density_step WIDTHS FOURIER BATCH STEPS THREADS\n");
    return 1;
  }
  MlpOptions options;
  options.widths.clear();
  std::istringstream widths(argv[1]);
  for (std::string width; std::getline(widths, width, ',');)
    options.widths.push_back(static_cast<uint32_t>(std::atoi(width.c_str())));
  options.fourier = static_cast<uint32_t>(std::atoi(argv[2]));
  const uint64_t steps = std::strtoull(argv[4], nullptr, 10);
  const ThreadLimit limit(std::atoi(argv[5]));
  Step step(options, std::strtoull(argv[3], nullptr, 10));
  double objective = 0;
  const double seconds = bench::seconds([&] {
    for (uint64_t i = 0; i < steps; ++i) {
      const double value = step();
      if (i + kLast >= steps) objective += value / static_cast<double>(kLast);
    }
  });
  fmt::print("{:.1f} {:.4f}\n", static_cast<double>(steps) / seconds, objective);
}
