#include "audit/bounds/trade_off.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "audit/bounds/gap_bounds.h"
#include "data/dataset.h"
#include "math/parallel.h"
#include "model/parameters.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMostExamples = 2000, kFewestExamples = 200;
constexpr uint64_t kMostScores = 1'000'000;       // examples x classes: one or two seconds
constexpr uint64_t kMostParameters = 30'000'000;  // which are copied as doubles
constexpr size_t kScales = 48, kDeltas = 12;
constexpr double kRange = 50;  // of delta and of t

// Scored examples in memory, for many passes over them.
class KeptExamples final : public ScoredExamples {
 public:
  explicit KeptExamples(const ScoredExamples& examples)
      : kept_(examples.examples()), norm_(examples.norm()), radius_(examples.radius()) {
    parallel_ranges(kept_.size(), examples.block(), [&](size_t begin, size_t end) {
      examples.visit(begin, end, [&](uint64_t i, const ScoredExample& e) {
        kept_[i] = {{e.scores.begin(), e.scores.end()}, e.target, e.weight};
        if (i == 0) log_carrier_.assign(e.log_carrier.begin(), e.log_carrier.end());
      });
    });
  }

  uint64_t examples() const override { return kept_.size(); }
  double norm() const override { return norm_; }
  double radius() const override { return radius_; }
  void visit(uint64_t begin, uint64_t end,
             const std::function<void(uint64_t, const ScoredExample&)>& sink) const override {
    for (uint64_t i = begin; i < end; ++i)
      sink(i, {kept_[i].scores, log_carrier_, kept_[i].target, kept_[i].weight});
  }

 private:
  struct Kept {
    std::vector<double> scores;
    uint32_t target = 0;
    double weight = 1;
  };

  std::vector<Kept> kept_;
  std::vector<double> log_carrier_;
  double norm_, radius_;
};

// Outputs of an example: K, or the size of the first group.
uint64_t outputs(const ModelFile& model, const Dataset& data) {
  return data.is_joint() ? data.group_begin[1] : model.classes;
}

// Why there is no curve, or empty.
std::string obstacle(const ModelFile& model, const Dataset& data) {
  if (model.family == Family::Hierarchical)
    return "the probabilities of a hierarchical model sum to 1 as they are";
  if (model.encoder.exists()) return "the bounds are about log-linear models, not about networks";
  if (data.examples() == 0) return "there are no examples";
  if ((model.family == Family::Joint) != data.is_joint())
    return "the data are of another kind than the model";
  if (!data.is_joint() && data.classes() != model.classes)
    return fmt::format("the data have {} classes, the model {}", data.classes(), model.classes);
  const uint64_t width = std::max<uint64_t>(1, model.classes);
  if ((uint64_t{model.features} + 1) * width > kMostParameters)
    return fmt::format("{} x {} parameters are more than the {} it is computed for", model.features, width,
                       kMostParameters);
  if (kMostScores / std::max<uint64_t>(1, outputs(model, data)) < std::min(kFewestExamples, data.examples()))
    return fmt::format("{} classes are more than the {} it is computed for", outputs(model, data),
                       kMostScores / kFewestExamples);
  return "";
}

std::vector<uint64_t> evenly_spread(uint64_t n, uint64_t wanted) {
  const uint64_t count = std::min(n, wanted);
  std::vector<uint64_t> out(count);
  for (uint64_t i = 0; i < count; ++i) out[i] = i * n / count;
  return out;
}

// What the gauge of smallest norm took from all scores of an example: the mean of the rows of theta over the
// classes, times (x, 1); nothing for joint models.
std::vector<double> gauge_shifts(const Dataset& data, const std::vector<double>& theta, uint32_t classes) {
  if (data.is_joint()) return std::vector<double>(data.examples());
  std::vector<double> mean(theta.size() / classes);
  for (size_t j = 0; j < theta.size(); ++j) mean[j / classes] += theta[j] / classes;
  std::vector<double> out(data.examples(), mean.back());
  for (uint64_t i = 0; i < data.examples(); ++i)
    for_each_entry(data.features, i, [&](uint32_t j, float v) { out[i] += mean[j] * double{v}; });
  return out;
}

// rms(A - c) of the model as it is.
double own_rms(const ScoredExamples& examples, const std::vector<double>& shift, double c) {
  double square = 0, weight = 0;
  examples.visit(0, examples.examples(), [&](uint64_t i, const ScoredExample& e) {
    square += e.weight * std::pow(log_normalizer(e, 1) + shift[i] - c, 2);
    weight += e.weight;
  });
  return std::sqrt(square / weight);
}

// 0 and kScales numbers from 1 / kRange to 1, of equal ratios.
std::vector<double> all_scales() {
  std::vector<double> out{0};
  for (size_t j = 0; j < kScales; ++j)
    out.push_back(std::pow(kRange, static_cast<double>(j) / static_cast<double>(kScales - 1) - 1));
  out.back() = 1;
  return out;
}

// At delta = rms(t) the largest t that is feasible is t itself iff every larger one has a larger rms: those
// are the points of the bound.
std::vector<ScaledModel> path(const std::vector<PathPoint>& points) {
  const PathPoint& own = points.back();
  std::vector<ScaledModel> out{{1, own.rms, 0}};
  for (size_t j = points.size() - 1; j-- > 0;) {
    if (points[j].rms < out.back().rms && points[j].rms >= own.rms / kRange)
      out.push_back({points[j].scale, points[j].rms, points[j].nll - own.nll});
  }
  std::ranges::reverse(out);
  return out;
}

std::vector<TheoryBound> theory_bounds(const ScoredExamples& examples, double low, double high) {
  std::vector<TheoryBound> out;
  for (size_t j = 0; j < kDeltas; ++j) {
    const double delta =
        low * std::pow(high / low, static_cast<double>(j) / static_cast<double>(kDeltas - 1));
    const GapBounds g = gap_bounds_at_alpha(examples, delta);
    out.push_back({delta, g.concavity, g.proposition3 + (1 - g.alpha) * g.slope});
  }
  return out;
}

TradeOff curve(const ModelFile& model, const Dataset& data) {
  const auto theta = parameters_of<double>(model);
  const KeptExamples examples(*scored_examples(data, theta, model.log_carrier));
  const GapBounds own = gap_bounds_at_alpha(examples, 1);  // throws for what the bounds are not about
  const std::vector<PathPoint> points = path_points(examples, all_scales());
  TradeOff out{.examples = data.examples(), .path = path(points), .bounds = {}};
  out.rms = own_rms(examples, gauge_shifts(data, theta, model.classes), model.log_normalizer);
  out.uniform = points.front().nll - own.nll;
  if (out.path.size() > 1) out.bounds = theory_bounds(examples, out.path.front().rms, out.path.back().rms);
  return out;
}

}  // namespace

TradeOffResult trade_off(const ModelFile& model, const Dataset& data) {
  TradeOffResult out{std::nullopt, obstacle(model, data)};
  if (!out.reason.empty()) return out;
  const uint64_t most = std::min(kMostExamples, kMostScores / outputs(model, data));
  try {
    TradeOff found = curve(model, subset(data, evenly_spread(data.examples(), most)));
    if (found.path.size() > 1)
      out.curve = std::move(found);
    else
      out.reason = "log Z is the same for all inputs, so that normalisation costs nothing";
  } catch (const Error& error) {  // groups of different sizes, missing labels, weights of 0, infinite scores
    out.reason = error.what();
  }
  return out;
}

}  // namespace selfnorm
