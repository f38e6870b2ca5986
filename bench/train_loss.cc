// How long L-BFGS takes to a given training loss
//     (1/n) sum_i nll_i + l2/2 |W|^2,
// from the call of the trainer to the first iteration at or below it: reading the file is not counted, the
// trainer's own checks and set-up are. Used by bench/sklearn_lbfgs.py, which finds the target.
// Reproduce: bench_train_loss DATA DIVISOR L2 TARGET [ROUNDS], with dense features divided by DIVISOR; prints
// one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "data/read.h"
#include "family/classifier/trainer.h"
#include "loss_target.h"
#include "selfnorm/error.h"

int main(int count, char** argument) {
  if (count < 5) {
    fmt::print(stderr, "usage: bench_train_loss DATA DIVISOR L2 TARGET [ROUNDS]\n");
    return 1;
  }
  try {
    selfnorm::Dataset data = selfnorm::read_dataset(argument[1]).data;
    const float divisor = std::strtof(argument[2], nullptr);
    for (float& v : data.features.dense.values) v /= divisor;
    selfnorm::TrainOptions options;
    options.objective.name = "exact";
    options.optimiser = "lbfgs";
    options.scale = "none";
    options.l2 = std::strtod(argument[3], nullptr);
    options.iterations = 2000;
    options.tolerance = 1e-9;
    options.patience = 0;
    const double target = std::strtod(argument[4], nullptr);
    std::vector<double> seconds;
    selfnorm::Progress last;
    bool met = true;
    for (int round = 0; round < (count > 5 ? std::atoi(argument[5]) : 1); ++round) {
      selfnorm::Dataset copy = data;
      bench::LossTarget observer(target);
      selfnorm::train_classifier(std::move(copy), std::nullopt, options, {}, observer);
      seconds.push_back(observer.seconds);
      last = observer.last;
      met = met && observer.met;
    }
    std::sort(seconds.begin(), seconds.end());
    fmt::print(
        R"({{"met": {}, "seconds": {:.6f}, "median_seconds": {:.6f}, "iterations": {}, "loss": {:.9f}}})"
        "\n",
        met, seconds.front(), seconds[seconds.size() / 2], last.step, last.loss);
    return met ? 0 : 2;
  } catch (const selfnorm::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
