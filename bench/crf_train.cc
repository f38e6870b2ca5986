// How long L-BFGS takes to the training loss
//     F = (1/N) sum_i nll_i + l2/2 |theta|^2,   biases free,
// that CRFsuite's parameters have, from the call of the trainer to the first iteration at or below it:
// reading is not counted, the trainer's own checks and set-up are. Used by bench/crf.py, which trains
// CRFsuite.
//   bench_crf_train FILE L2 HISTORY THREADS CRFSUITE_MODEL.txt [SAVE]
// prints one JSON object; with SAVE CRFsuite's parameters become a selfnorm model there. F of the parameters
// is computed in double precision at both ends; `peer_value` is CRFsuite's own objective, N F + N l2/2
// |bias|^2.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "family/crf/crf_trainer.h"
#include "loss_target.h"
#include "measure.h"
#include "normalizer/crf/crf_pass.h"
#include "objective/loss.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace {

using selfnorm::CrfShape;
using selfnorm::SequenceRead;

std::unordered_map<std::string, uint64_t> numbers(const std::vector<std::string>& names) {
  std::unordered_map<std::string, uint64_t> out;
  for (uint64_t i = 0; i < names.size(); ++i) out.emplace(names[i], i);
  return out;
}

// Lines "  (1) label --> label: weight" and "  (0) attribute --> label: weight" of CRFsuite's dump.
std::vector<double> peer_theta(const char* path, const selfnorm::SequenceEncoder& encoder,
                               const CrfShape& shape) {
  const auto labels = numbers(encoder.labels), attributes = numbers(encoder.unigrams);
  std::vector<double> theta(shape.size());
  std::ifstream file(path);
  if (!file) throw selfnorm::Error(fmt::format("cannot open {}", path));
  for (std::string line; std::getline(file, line);) {
    const bool is_pair = line.starts_with("  (1) ");
    const size_t arrow = line.rfind(" --> "), colon = line.rfind(": ");
    if ((!is_pair && !line.starts_with("  (0) ")) || arrow == std::string::npos) continue;
    const std::string from = line.substr(6, arrow - 6);
    const uint64_t to = labels.at(line.substr(arrow + 5, colon - arrow - 5));
    const size_t row = is_pair          ? shape.transition() + labels.at(from) * shape.labels
                       : from == "BIAS" ? shape.bias()
                                        : attributes.at(from) * shape.labels;
    theta[row + to] = std::strtod(line.c_str() + colon + 2, nullptr);
  }
  return theta;
}

struct Values {
  double loss, peer_value;
};

Values values_of(const SequenceRead& read, const CrfShape& shape, const std::vector<double>& theta,
                 double l2) {
  selfnorm::ObjectiveOptions exact;
  exact.name = "exact";
  const auto pass = selfnorm::make_crf_pass<double>(read.data, shape);
  const double nll =
      selfnorm::value_and_gradient<double>(*pass, *selfnorm::make_objective(exact), {}, theta, {})
          .mean_loss();
  double square = 0, all = 0;
  for (size_t i = 0; i < theta.size(); ++i) (i < shape.bias() ? square : all) += theta[i] * theta[i];
  all += square;
  return {nll + l2 / 2 * square, static_cast<double>(read.data.sentences()) * (nll + l2 / 2 * all)};
}

}  // namespace

int main(int count, char** argument) {
  if (count < 6) {
    fmt::print(stderr, "usage: bench_crf_train FILE L2 HISTORY THREADS CRFSUITE_MODEL.txt [SAVE]\n");
    return 1;
  }
  try {
    selfnorm::SequenceOptions sequence_options;
    sequence_options.format = selfnorm::SequenceFormat::attributes;
    const double before = bench::processor_now();
    const SequenceRead read = selfnorm::learn_sequences(argument[1], sequence_options);
    const double reading = bench::processor_now() - before;
    const CrfShape shape = selfnorm::shape_of(read.encoder);
    selfnorm::CrfOptions options;
    options.objective.name = "exact";
    options.optimiser = "lbfgs";
    options.l2 = std::strtod(argument[2], nullptr);
    options.history = std::strtoull(argument[3], nullptr, 10);
    options.threads = std::atoi(argument[4]);
    options.iterations = 2000;
    options.tolerance = 1e-9;
    options.patience = 0;

    const std::vector<double> peer = peer_theta(argument[5], read.encoder, shape);
    const Values target = values_of(read, shape, peer, options.l2);
    bench::LossTarget observer(target.loss);
    const selfnorm::CrfModel model =
        selfnorm::train_crf({read.data, nullptr, read.encoder}, options, {}, observer).model;
    const Values reached = values_of(read, shape, {model.theta.begin(), model.theta.end()}, options.l2);
    if (count > 6) {
      selfnorm::CrfModel same = model;
      same.theta.assign(peer.begin(), peer.end());
      selfnorm::save_crf(same, argument[6]);
    }
    fmt::print(
        R"({{"met": {}, "seconds": {:.6f}, "processor": {:.6f}, "reading": {:.6f}, "iterations": {}, )"
        R"("target": {:.9f}, "loss": {:.9f}, "loss_double": {:.9f}, "peer_value": {:.9f}, "parameters": {}}})"
        "\n",
        observer.met, observer.seconds, observer.processor, reading, observer.last.step, target.loss,
        observer.last.loss, reached.loss, target.peer_value, shape.size());
    return observer.met ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
