#include "selfnorm/train/chain_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/model/chain/check_sequences.h"
#include "selfnorm/normalizer/chain/chain_pass.h"
#include "selfnorm/train/chain_batch.h"
#include "selfnorm/train/chain_step.h"
#include "selfnorm/train/loop.h"
#include "selfnorm/train/run_description.h"
#include "selfnorm/train/validation.h"

namespace selfnorm {
namespace {

// The level of A that calibration takes from the biases is per position: mean A / mean T. Subtracted.constant
// is in its units here, and 0 in training.
ValidationMeasure measure_chain(const ExactPass<float>& pass, const Sequences& data,
                                std::span<const float> theta) {
  std::vector<double> log_z(pass.examples()), nll(pass.examples());
  pass.run(theta, pass.examples(),
           [&](uint64_t i, double score, double a) {
             log_z[i] = a;
             nll[i] = a - score;
             return ScoreDerivatives{};
           },
           {});
  ValidationMeasure out;
  double total = 0;
  for (const double a : log_z) total += a;
  out.level = total / static_cast<double>(data.positions());
  for (uint64_t i = 0; i < log_z.size(); ++i) {
    const double calibrated = log_z[i] - out.level * static_cast<double>(data.length(i));
    out.nll += nll[i];
    out.square += log_z[i] * log_z[i];
    out.calibrated_square += calibrated * calibrated;
  }
  const auto n = static_cast<double>(log_z.size());
  out.nll /= n;
  out.square /= n;
  out.calibrated_square /= n;
  return out;
}

Validation<float>::Measure chain_measure(const Sequences* valid, const ChainShape& shape) {
  if (valid == nullptr) return nullptr;
  std::shared_ptr<ExactPass<float>> pass = make_chain_pass<float>(*valid, shape);
  return [valid, pass](std::span<const float> theta, const Subtracted&) {
    return measure_chain(*pass, *valid, theta);
  };
}

std::vector<float> start_of(const ChainShape& shape) {
  std::vector<float> theta(shape.size());
  std::fill(theta.begin() + static_cast<ptrdiff_t>(shape.bias()), theta.end(),
            static_cast<float>(-std::log(static_cast<double>(shape.labels))));
  return theta;
}

LoopOutput<float> trained(const LoopProblem<float>& problem, const Sequences& train,
                          const ChainShape& shape) {
  if (problem.optimiser == "lbfgs") {
    const auto pass = make_chain_pass<float>(train, shape);
    return train_in_full_passes<float>(problem, *pass, {});
  }
  const uint64_t batch = std::min(problem.options.batch, train.sentences());
  const auto step = make_chain_step(train, shape, problem.options, batch);
  return train_in_minibatches<float>(problem, *step, batch, position_norm(train.unigram));
}

}  // namespace

ChainShape shape_of(const SequenceEncoder& encoder) {
  return {static_cast<uint32_t>(encoder.labels.size()), encoder.unigrams.size(), encoder.bigrams.size(),
          encoder.has_transitions};
}

ChainTrainResult train_chain(const ChainTrainData& data, const ChainOptions& given,
                             const CheckpointOptions& checkpoint, TrainObserver& observer) {
  given.validate();
  const ChainShape shape = shape_of(data.encoder);
  if (shape.labels < 2)
    throw Error(fmt::format("found {} label(s), expected at least two to choose from", shape.labels));
  check_sequences(data.train, shape, "the training data", true);
  if (data.valid != nullptr) check_sequences(*data.valid, shape, "the validation data", true);
  const TrainOptions options = given.loop_options();
  warn_about_gamma(options.objective, observer);
  const ThreadLimit limit(options.threads);

  const std::string optimiser = choose_optimiser(options, shape.size());
  const std::string mark =
      fingerprint(data.train, options_text(options, optimiser) + fmt::format(" chain {}", shape.size())) +
      (data.valid != nullptr ? fingerprint(*data.valid, "") : "");
  Validation<float> validation(options, chain_measure(data.valid, shape));
  LoopOutput<float> loop = trained({.options = options,
                                    .checkpoint = checkpoint,
                                    .observer = observer,
                                    .optimiser = optimiser,
                                    .fingerprint = mark,
                                    .examples = data.train.sentences(),
                                    .parameters = shape.size(),
                                    .penalised = shape.bias(),
                                    .start = start_of(shape),
                                    .validation = validation},
                                   data.train, shape);

  const double level =
      needs_constant(options.objective) && !loop.calibrated
          ? measure_chain(*make_chain_pass<float>(data.train, shape), data.train, loop.theta).level
          : loop.subtracted.constant;
  for (size_t i = shape.bias(); i < shape.size(); ++i)
    loop.theta[i] = static_cast<float>(static_cast<double>(loop.theta[i]) - level);
  ChainTrainResult result;
  result.model.encoder = data.encoder;
  result.model.shape = shape;
  result.model.theta = std::move(loop.theta);
  result.model.objective_json = objective_record(options.objective, loop.last.alpha);
  result.model.training_json =
      training_record(options, optimiser, loop.reason, data.train.sentences(), loop.last);
  result.reason = loop.reason;
  result.interrupted = loop.ending == Ending::interrupted;
  result.diverged = loop.ending == Ending::diverged;
  result.last = loop.last;
  result.optimiser = optimiser;
  return result;
}

}  // namespace selfnorm
