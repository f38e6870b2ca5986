#include "family/crf/crf_trainer.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/failure.h"
#include "family/classifier/loop.h"
#include "family/classifier/options.h"
#include "family/crf/crf_batch.h"
#include "family/crf/crf_gauge.h"
#include "math/parallel.h"
#include "model/crf/crf_model.h"
#include "normalizer/crf/crf_pass.h"

namespace selfnorm {
namespace {

constexpr uint64_t kFewestForTwo = 10;  // sentences

// A of every sentence, and A - s.
struct CrfLosses {
  std::vector<double> log_z, nll;
};

CrfLosses losses(const ExactPass<float>& pass, std::span<const float> theta) {
  CrfLosses out{std::vector<double>(pass.examples()), std::vector<double>(pass.examples())};
  pass.run(theta, pass.examples(),
           [&](uint64_t i, double score, double a) {
             out.log_z[i] = a;
             out.nll[i] = a - score;
             return ScoreDerivatives{};
           },
           {});
  return out;
}

// What calibration takes from A: per_sentence + per_position T. The optimum of `sampled` has A = 1/(2 alpha)
// in a sentence of any length (theory.md 3), so one number per position is not enough.
struct CrfLevel {
  double per_sentence = 0, per_position = 0;
  double operator()(uint64_t length) const {
    return per_sentence + per_position * static_cast<double>(length);
  }
};

// Least squares of A on (1, T). A CRF without transitions has no constant per sentence that is free, and a
// handful of sentences, or lengths that are all the same, do not tell the two apart: mean A / mean T then.
CrfLevel level_of(const std::vector<double>& log_z, const Sequences& data, const CrfShape& shape) {
  const auto n = static_cast<double>(log_z.size()), mean_length = static_cast<double>(data.positions()) / n;
  double mean = 0, square = 0, cross = 0;
  for (const double a : log_z) mean += a / n;
  for (uint64_t i = 0; i < log_z.size(); ++i) {
    const double length = static_cast<double>(data.length(i)) - mean_length;
    square += length * length;
    cross += length * (log_z[i] - mean);
  }
  if (!shape.has_transitions || log_z.size() < kFewestForTwo || square == 0) return {0, mean / mean_length};
  const double slope = cross / square;
  return {mean - slope * mean_length, slope};
}

ValidationMeasure measure_crf(const ExactPass<float>& pass, const Sequences& data, const CrfShape& shape,
                              std::span<const float> theta) {
  const CrfLosses found = losses(pass, theta);
  const CrfLevel level = level_of(found.log_z, data, shape);
  ValidationMeasure out;
  for (uint64_t i = 0; i < found.log_z.size(); ++i) {
    const double calibrated = found.log_z[i] - level(data.length(i));
    out.nll += found.nll[i];
    out.square += found.log_z[i] * found.log_z[i];
    out.calibrated_square += calibrated * calibrated;
  }
  const auto n = static_cast<double>(found.log_z.size());
  out.nll /= n;
  out.square /= n;
  out.calibrated_square /= n;
  return out;
}

// The same CRF with the level of its A on these sentences taken out.
void calibrate(const Sequences& data, CrfModel& model) {
  const CrfLevel level =
      level_of(losses(*make_crf_pass<float>(data, model.shape), model.theta).log_z, data, model.shape);
  LinearFit fit;
  fit.intercept = level.per_sentence;
  fit.slope.assign(model.shape.unigrams + model.shape.bigrams + 1, 0);
  fit.slope.back() = level.per_position;
  apply_crf_gauge(fit, model);
}

HeldOutMeasure<float> crf_measure(const Sequences* valid, const CrfShape& shape) {
  if (valid == nullptr) return nullptr;
  std::shared_ptr<ExactPass<float>> pass = make_crf_pass<float>(*valid, shape);
  return [valid, pass, shape](std::span<const float> theta, const Subtracted&) {
    return measure_crf(*pass, *valid, shape, theta);
  };
}

std::vector<float> start_of(const CrfShape& shape) {
  std::vector<float> theta(shape.size());
  std::fill(theta.begin() + static_cast<ptrdiff_t>(shape.bias()), theta.end(),
            static_cast<float>(-std::log(static_cast<double>(shape.labels))));
  return theta;
}

LoopOutput<float> trained(const LoopProblem<float>& problem, const Sequences& train, const CrfShape& shape) {
  if (problem.optimiser == "lbfgs") {
    const auto pass = make_crf_pass<float>(train, shape);
    return train_in_full_passes<float>(problem, {*pass});
  }
  const uint64_t batch = std::min(problem.options.batch, train.sentences());
  const auto step = make_crf_step(train, shape, problem.options, batch);
  return train_in_minibatches<float>(problem, *step, batch, position_norm(train.unigram));
}

}  // namespace

CrfShape shape_of(const SequenceEncoder& encoder) {
  return {static_cast<uint32_t>(encoder.labels.size()), encoder.unigrams.size(), encoder.bigrams.size(),
          encoder.has_transitions};
}

CrfTrainResult train_crf(const CrfTrainData& data, const CrfOptions& given,
                         const CheckpointOptions& checkpoint, TrainObserver& observer) {
  given.validate();
  const CrfShape shape = shape_of(data.encoder);
  if (shape.labels < 2) throw_error("found {} label(s), expected at least two to choose from", shape.labels);
  check_sequences(data.train, shape, "the training data", NeededLabels::known);
  if (data.valid != nullptr) check_sequences(*data.valid, shape, "the validation data", NeededLabels::known);
  const TrainOptions options = given;
  warn_about_gamma(options.objective, observer);
  const ThreadLimit limit(options.threads);

  const std::string optimiser = choose_optimiser(options, shape.size());
  const std::string mark =
      fingerprint(data.train, options_text(options, optimiser) + fmt::format(" chain {}", shape.size())) +
      (data.valid != nullptr ? fingerprint(*data.valid, "") : "");
  LoopOutput<float> loop = trained({.options = options,
                                    .checkpoint = checkpoint,
                                    .observer = observer,
                                    .optimiser = optimiser,
                                    .fingerprint = mark,
                                    .examples = data.train.sentences(),
                                    .parameters = shape.size(),
                                    .penalised = shape.bias(),
                                    .start = start_of(shape),
                                    .held_out = crf_measure(data.valid, shape)},
                                   data.train, shape);

  CrfTrainResult result;
  result.model.encoder = data.encoder;
  result.model.shape = shape;
  result.model.theta = std::move(loop.theta);
  if (loop.calibrated)
    calibrate(*data.valid, result.model);
  else if (options.calibrate && needs_constant(options.objective))
    calibrate(data.train, result.model);
  result.model.objective_json = objective_record(options.objective, loop.outcome.last.alpha);
  result.model.training_json =
      training_record(options, optimiser, loop.outcome.reason, data.train.sentences(), loop.outcome.last);
  result.take(std::move(loop.outcome));
  result.optimiser = optimiser;
  return result;
}

void CrfOptions::validate() const {
  CrfOptions copy = *this;
  train_option_table("crf", copy).validate();
  if (objective.centre || objective.learn_centre)
    throw_error(
        "`centre` is not an option of chains, whose biases bring log Z to 0 for sentences of every length; "
        "leave it out");
  TrainOptions::validate();
}

}  // namespace selfnorm
