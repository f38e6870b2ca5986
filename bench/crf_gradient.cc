// One exact loss and gradient of a CRF over an attribute file of bench_crf_data random, at the parameters
// of crfsuite_driver.c's sine_weight, so that both programs compute the same number. Used by bench/crf.py.
//   bench_crf_gradient FILE ROUNDS THREADS   a JSON object a round: value (sum over sentences), wall clock
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "family/crf/crf_trainer.h"
#include "math/parallel.h"
#include "measure.h"
#include "normalizer/crf/crf_pass.h"
#include "objective/loss.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace {

float sine_weight(const std::string& from, const std::string& to) {
  return static_cast<float>(
      0.5 * std::sin(1 + 0.7 * std::atoi(from.c_str() + 1) + 1.3 * std::atoi(to.c_str() + 1)));
}

}  // namespace

int main(int count, char** argument) {
  if (count < 4) {
    fmt::print(stderr, "usage: bench_crf_gradient FILE ROUNDS THREADS\n");
    return 1;
  }
  try {
    selfnorm::SequenceOptions options;
    options.format = selfnorm::SequenceFormat::attributes;
    const selfnorm::SequenceRead read = selfnorm::learn_sequences(argument[1], options);
    const selfnorm::CrfShape shape = selfnorm::shape_of(read.encoder);
    const std::vector<std::string>& labels = read.encoder.labels;
    std::vector<float> theta, gradient(shape.size());
    for (const auto* names : {&read.encoder.unigrams, &labels})
      for (const std::string& from : *names)
        for (const std::string& to : labels) theta.push_back(sine_weight(from, to));
    theta.resize(shape.size());

    const selfnorm::ThreadLimit limit(std::atoi(argument[3]));
    selfnorm::ObjectiveOptions exact;
    exact.name = "exact";
    const auto objective = selfnorm::make_objective(exact);
    const auto pass = selfnorm::make_crf_pass<float>(read.data, shape);
    for (int round = 0; round < std::atoi(argument[2]); ++round) {
      std::fill(gradient.begin(), gradient.end(), 0.0f);
      double value = 0;
      const double processor = bench::processor_now();
      const double wall = bench::seconds([&] {
        value = selfnorm::value_and_gradient<float>(*pass, *objective, {}, theta, gradient).likelihood;
      });
      fmt::print(R"({{"value": {:.9f}, "seconds": {:.6f}, "processor": {:.6f}, "tokens": {}}})"
                 "\n",
                 value, wall, bench::processor_now() - processor, read.data.positions());
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
