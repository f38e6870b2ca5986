// `predict` of 100,000 rows of 8 numbers, five quantiles each with mean, modes and intervals, by a regressor
// trained for a moment (target 10 s). Its floors, in the same run and taking turns: scoring as many (x, y) as
// the quadrature asks for and nothing else, and log-densities with b(x), one (x, y) a row.
// Reproduce: bench_regressor_predict [ROWS ROUNDS]
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "family/regressor/predictive.h"
#include "family/regressor/train/regressor_trainer.h"
#include "measure.h"
#include "normalizer/quadrature/conditional_quadrature.h"
#include "regression_data.h"

namespace {

using namespace selfnorm;

constexpr uint64_t kTrainingRows = 10'000;
constexpr double kTarget = 10;  // seconds, of 100,000 rows

Regressor trained() {
  const Frame frame = bench::regression_frame(kTrainingRows, 5);
  RegressorOptions options;
  options.ensemble = 1;
  options.input_noise = 0.02;
  options.epochs = 10;
  options.average = 0.98;
  TrainObserver observer;
  return train_regressor(frame, {"y"}, bench::all_rows(frame), {}, options, {}, observer).model;
}

// Work(begin, end) for blocks of rows as predict takes them.
template <class Work>
void in_blocks(uint64_t rows, const Work& work) {
  const uint64_t at_once = rows_at_once(1);
  for (uint64_t begin = 0; begin < rows; begin += at_once) work(begin, std::min(rows, begin + at_once));
}

// Mean number of scores that the quadrature of a row takes.
double evaluations(const Regressor& model, const InputRows& x) {
  double sum = 0;
  in_blocks(x.rows(), [&](uint64_t begin, uint64_t end) {
    for (const PredictiveNodes& nodes :
         conditional_quadrature(*prepare_scores(model, 0, x.slice(begin, end))))
      sum += static_cast<double>(nodes.evaluations);
  });
  return sum / static_cast<double>(x.rows());
}

// The networks of x, and `each` scores of every row.
double scores_alone(const Regressor& model, const InputRows& x, uint64_t each) {
  double sum = 0;
  in_blocks(x.rows(), [&](uint64_t begin, uint64_t end) {
    const uint64_t n = (end - begin) * each;
    std::vector<float> y(n);
    std::vector<uint32_t> row(n);
    for (uint64_t i = 0; i < n; ++i) {
      y[i] = 6 * (static_cast<float>(i % each) + 0.5f) / static_cast<float>(each) - 3;
      row[i] = static_cast<uint32_t>(i / each);
    }
    std::vector<double> s(n);
    prepare_scores(model, 0, x.slice(begin, end))->score({y.data(), n, 1}, row, s);
    for (const double value : s) sum += value;
  });
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const Regressor model = trained();
  const Frame frame = bench::regression_frame(rows, 6);
  EncodingReport report;
  const EncodedFrame encoded = model.encoder.encode(frame, report);
  const InputRows x = encoded.view();
  const std::vector<double>& target = frame.columns.back().number;
  const double mean_evaluations = evaluations(model, x);
  const auto each = static_cast<uint64_t>(std::lround(mean_evaluations));

  double prediction = INFINITY, scores = INFINITY, raw = INFINITY, error = 0, inside = 0;
  for (int round = 0; round < rounds; ++round) {
    inside = 0;
    prediction = std::min(prediction, bench::seconds([&] {
                            predict(model, x, {}, {}, [&](uint64_t i, Prediction&& p) {
                              const std::vector<double>& q = p.coordinates[0].quantiles;
                              error = std::max(error, p.error);
                              inside += target[i] >= q.front() && target[i] <= q.back() ? 1 : 0;
                            });
                          }));
    scores = std::min(scores, bench::seconds([&] { scores_alone(model, x, each); }));
    raw = std::min(raw, bench::seconds([&] { raw_log_density(model, x, target); }));
  }
  const double n = static_cast<double>(rows), limit = kTarget * n / 100'000;
  fmt::print(
      "  predict of {} rows, quantiles .05 .25 .5 .75 .95, {} cores: {:.2f} s, {:.0f} rows/s (target <= {:g} "
      "s: {}); the {:.1f} scores a row of its quadrature alone {:.2f} s: {:.2f} x\n",
      rows, ::sysconf(_SC_NPROCESSORS_ONLN), prediction, n / prediction, limit,
      prediction <= limit ? "MET" : "MISSED", mean_evaluations, scores, prediction / scores);
  fmt::print(
      "  log-densities with b(x): {:.0f} rows/s, {:.0f} x as fast; largest error of A {:.1e}; {:.1f}% of "
      "targets in the central 90%; best of {}\n",
      n / raw, prediction / raw, error, 100 * inside / n, rounds);
  fmt::print("  reproduce: {}\n", fmt::join(argv, argv + argc, " "));
}
