#include "family/classifier/normalize/amortise.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "audit/gauge.h"
#include "base/failure.h"
#include "data/example_source.h"
#include "math/parallel.h"
#include "model/normalizer_network.h"
#include "optim/adaptive.h"

namespace selfnorm {
namespace {

constexpr uint64_t kGathered = 1024;  // examples held at once
constexpr uint32_t kMostHidden = 65536;

class Fitting {
 public:
  Fitting(const ExampleSource& source, std::span<const double> log_z, const AmortiseOptions& options)
      : source_(source),
        log_z_(log_z),
        options_(options),
        is_mlp_(options.kind == "mlp"),
        left_over_(source.examples()) {
    std::tie(training_, held_out_) = random_split(source.examples(), options.hold_out, options.network.seed);
    progress_.total = training_.size() * (1 + (is_mlp_ ? options.network.epochs : 0));
  }

  AmortisedFit operator()() {
    AmortisedFit out;
    out.examples = training_.size();
    out.held_out = held_out_.size();
    out.normalizer = options_.linear != nullptr ? *options_.linear : linear();
    measure(out);
    out.rms_linear = out.rms_held_out;
    const AmortisedNormalizer mean = constant();
    out.rms_constant = subtract(mean, held_out_);
    if (out.rms_constant < out.rms_linear) out.normalizer = mean;
    measure(out);
    out.linear = out.normalizer;
    if (is_mlp_) {
      add_network(out);
      measure(out);
    }
    return out;
  }

 private:
  // visit(features, their examples), some at a time.
  template <class Visit>
  void for_each_block(std::span<const uint64_t> examples, const Visit& visit) const {
    for (size_t begin = 0; begin < examples.size(); begin += kGathered) {
      const auto part = examples.subspan(begin, std::min<size_t>(kGathered, examples.size() - begin));
      visit(source_.gather(part).features, part);
    }
  }

  void advance(uint64_t visited) {
    progress_.done += visited;
    if (options_.on_progress) options_.on_progress(progress_);
  }

  AmortisedNormalizer linear() {
    const ExampleSubset examples(source_, training_);
    GaugeRegression regression(examples, source_.columns());
    std::vector<double> y;
    for (uint64_t begin = 0; begin < training_.size(); begin += y.size()) {
      const uint64_t end = std::min<uint64_t>(begin + kGathered, training_.size());
      y.clear();
      for (uint64_t i = begin; i < end; ++i) y.push_back(log_z_[training_[i]]);
      regression.add(examples.block(begin, end), y);
      advance(y.size());
    }
    const LinearFit fit = regression.fit_for_prediction();
    AmortisedNormalizer b;
    b.intercept = fit.intercept;
    for (const double v : fit.slope) b.slope.push_back(static_cast<float>(v));
    return b;
  }

  AmortisedNormalizer constant() const {
    AmortisedNormalizer b;
    for (const uint64_t i : training_) b.intercept += log_z_[i] / static_cast<double>(training_.size());
    b.slope.resize(source_.columns());
    return b;
  }

  void add_network(AmortisedFit& out) {
    const TrainedNormalizer trained =
        train_normalizer({source_, training_, held_out_, left_over_}, options_.network,
                         [&](uint64_t visited, std::optional<double> rms) {
                           progress_.epoch += rms ? 1 : 0;
                           progress_.rms_held_out = rms;
                           advance(visited);
                         });
    out.epochs = trained.epochs;
    out.reason = trained.reason;
    if (!trained.normalizer.exists()) return;
    AmortisedNormalizer sum = trained.normalizer;
    sum.intercept += out.normalizer.intercept;
    for (size_t j = 0; j < sum.slope.size(); ++j) sum.slope[j] += out.normalizer.slope[j];
    out.normalizer = std::move(sum);
  }

  void measure(AmortisedFit& out) {
    out.rms_training = subtract(out.normalizer, training_);
    out.rms_held_out = subtract(out.normalizer, held_out_);
  }

  // left_over_i <- log_z_i - b(x_i) for the examples listed; returns its root mean square.
  double subtract(const AmortisedNormalizer& b, std::span<const uint64_t> examples) {
    double squares = 0;
    for_each_block(examples, [&](const Features& x, std::span<const uint64_t> part) {
      const std::vector<double> values = values_of(b, x);
      for (size_t i = 0; i < part.size(); ++i) {
        double& rest = left_over_[part[i]];
        rest = log_z_[part[i]] - values[i];
        squares += rest * rest;
      }
    });
    const double rms = std::sqrt(squares / static_cast<double>(examples.size()));
    if (std::isfinite(rms)) return rms;
    throw Error(
        "the amortised normalizer is not finite on these examples: their values are too large or too small; "
        "scale them");
  }

  const ExampleSource& source_;
  std::span<const double> log_z_;
  const AmortiseOptions& options_;
  bool is_mlp_;
  std::vector<uint64_t> training_, held_out_;  // increasing
  std::vector<double> left_over_;
  AmortiseProgress progress_;
};

}  // namespace

void AmortiseOptions::validate() const {
  if (kind != "linear" && kind != "mlp")
    throw_error("the amortised normalizer '{}' is not known; expected linear or mlp", kind);
  require_range(hold_out > 0 && hold_out <= 0.5, "hold-out", hold_out, "more than 0, at most 0.5");
  require_range(network.hidden >= 1 && network.hidden <= kMostHidden, "hidden", network.hidden, "1 to 65536");
  require_range(network.epochs >= 1, "epochs", static_cast<double>(network.epochs), "at least 1");
  require_range(network.batch >= 1, "batch", static_cast<double>(network.batch), "at least 1");
  require_range(network.learning_rate > 0, "learning-rate", network.learning_rate, "a finite number > 0");
  require_range(threads >= 0, "threads", threads, "0 (all cores) or more");
  const std::vector<std::string> schedules = schedule_names();
  if (std::find(schedules.begin(), schedules.end(), network.schedule) == schedules.end())
    throw_error("schedule '{}' is not known; expected one of {}", network.schedule,
                fmt::join(schedules, ", "));
}

AmortisedFit fit_amortised(const ExampleSource& source, std::span<const double> log_z,
                           const AmortiseOptions& options) {
  options.validate();
  if (source.is_joint())
    throw Error("a model of alternatives has no amortised normalizer: it would depend on the whole group");
  if (source.examples() != log_z.size())
    throw_error("there are {} examples with {} log-normalizers; expected one for each", source.examples(),
                log_z.size());
  if (log_z.size() < 2)
    throw_error("found {} examples to fit an amortised normalizer to; expected at least 2", log_z.size());
  for (size_t i = 0; i < log_z.size(); ++i)
    if (!std::isfinite(log_z[i])) throw_error("example {}: log Z is {}", i, log_z[i]);
  const ThreadLimit limit(options.threads);
  return Fitting(source, log_z, options)();
}

}  // namespace selfnorm
