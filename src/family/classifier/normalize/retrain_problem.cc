#include "family/classifier/normalize/retrain_problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "audit/gauge.h"
#include "data/dataset.h"
#include "math/parallel.h"
#include "model/parameters.h"
#include "normalizer/enumeration.h"
#include "normalizer/output_stream.h"
#include "normalizer/problem.h"
#include "objective/penalty.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRetrainScalingSample = 20'000;

// Up to that many examples, evenly spread.
Dataset spread_sample(const ExampleSource& source, uint64_t most) {
  const uint64_t count = std::min(most, source.examples());
  std::vector<uint64_t> chosen(count);
  for (uint64_t i = 0; i < count; ++i) chosen[i] = i * source.examples() / count;
  return source.gather(chosen);
}

}  // namespace

RetrainProblem::RetrainProblem(const ModelFile& original, const ExampleSource& training,
                               const ExampleSource& held_out, bool allow_labels)
    : original_(original),
      training_(training),
      uses_labels_(allow_labels && training.has_targets() && held_out.has_targets()),
      sides_{{training, {}}, {held_out, {}}} {
  Dataset sample = spread_sample(training, kRetrainScalingSample);
  if (!sample.features.is_sparse) {
    scaling_ = fit_scaling(sample.features.dense);
    scaling_.apply(sample.features.dense);
  }
  double square = 0, entries = 0;
  for (uint64_t i = 0; i < sample.features.rows(); ++i) {
    for_each_entry(sample.features, i, [&](uint32_t, float v) {
      square += static_cast<double>(v) * static_cast<double>(v);
      ++entries;
    });
  }
  const double n = static_cast<double>(sample.features.rows());
  input_norm_ = std::sqrt(square / n + 1);
  nonzeros_ = entries / n;
  if (uses_labels_) return;
  teacher_ = make_class_scores(original, sample.features.is_sparse);
  for (Side& side : sides_) side.teacher_log_z = log_normalizers(original, side.source);
}

double RetrainProblem::flops() const {
  const double products = uses_labels_ ? 2 : 3;
  return 2 * products * static_cast<double>(examples()) * static_cast<double>(original_.classes) *
         (nonzeros_ + 1);
}

// w . x + b = (w std) . z + (b + w . mean)
std::vector<float> RetrainProblem::theta_of(const ModelFile& model) const {
  std::vector<float> theta = parameters_of<float>(model);
  if (!scaling_.active()) return theta;
  const size_t classes = model.classes, features = model.features;
  std::vector<double> bias(theta.end() - static_cast<std::ptrdiff_t>(classes), theta.end());
  for (size_t j = 0; j < features; ++j) {
    for (size_t k = 0; k < classes; ++k) {
      float& w = theta[j * classes + k];
      bias[k] += static_cast<double>(w) * scaling_.mean[j];
      w = static_cast<float>(static_cast<double>(w) / scaling_.inverse[j]);
    }
  }
  std::copy(bias.begin(), bias.end(), theta.end() - static_cast<std::ptrdiff_t>(classes));
  return theta;
}

std::vector<float> RetrainProblem::towards_uniform(std::vector<float> theta, double t) const {
  const std::vector<float> uniform =
      initial_parameters<float>(original_.classes, original_.features, original_.log_carrier);
  for (size_t i = 0; i < theta.size(); ++i)
    theta[i] = static_cast<float>(t) * theta[i] + static_cast<float>(1 - t) * uniform[i];
  return theta;
}

void RetrainProblem::apply_gauge(std::vector<float>& theta) const {
  const uint64_t n = training_.examples(), size = block_size(training_);
  const bool has_slope = training_.columns() <= kLargestRegression;
  LeastSquares regression(has_slope ? training_.columns() : 1);
  for (uint64_t first = 0; first < n; first += size) {
    Dataset block = training_.block(first, std::min(n, first + size));
    if (scaling_.active()) scaling_.apply(block.features.dense);
    std::vector<double> log_z(block.examples());
    const auto pass =
        make_exact_pass<float>(block, original_.features, original_.classes, original_.log_carrier);
    pass->run(theta, block.examples(),
              [&](uint64_t i, double, double a) {
                log_z[i] = a;
                return ScoreDerivatives{};
              },
              {});
    if (!has_slope) {
      block.features = {};
      block.features.is_sparse = false;
      block.features.dense = {log_z.size(), 1, std::vector<float>(log_z.size())};
    }
    regression.add(block.features, log_z);
  }
  const LinearFit fit = regression.fit_for_prediction();
  const size_t classes = original_.classes;
  for (size_t j = 0; has_slope && j < fit.slope.size(); ++j)
    for (size_t k = 0; k < classes; ++k) theta[j * classes + k] -= static_cast<float>(fit.slope[j]);
  for (size_t i = theta.size() - classes; i < theta.size(); ++i)
    theta[i] -= static_cast<float>(fit.intercept);
}

ModelFile RetrainProblem::model_of(const std::vector<float>& theta) const {
  ModelFile model = original_;
  model.log_normalizer = 0;
  model.normalizer = {};
  store_parameters<float>(theta, scaling_, model);
  return model;
}

LossSum RetrainProblem::add(const Side& side, Dataset block, std::span<const uint64_t> examples,
                            std::span<const float> theta, double alpha, double scale,
                            std::span<float> gradient) const {
  const Penalty objective(alpha);
  const LossQuery query{.gradient_scale = scale};
  Features raw;
  if (!uses_labels_) raw = block.features;
  if (scaling_.active()) scaling_.apply(block.features.dense);
  if (uses_labels_) {
    const auto pass =
        make_exact_pass<float>(block, original_.features, original_.classes, original_.log_carrier);
    return value_and_gradient<float>(*pass, objective, query, theta, gradient);
  }
  std::vector<double> log_z;
  for (const uint64_t i : examples) log_z.push_back(side.teacher_log_z[i]);
  const Multiclass<float> model(block.features, original_.classes, original_.features, original_.log_carrier);
  const TeacherEnumeration pass(model, raw, *teacher_, log_z);
  return value_and_gradient<float>(pass, objective, query, theta, gradient);
}

LossSum RetrainProblem::full(std::span<const float> theta, double alpha, std::span<float> gradient,
                             const Report& report) const {
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  const uint64_t n = training_.examples(), size = block_size(training_);
  LossSum sum;
  for (uint64_t first = 0; first < n; first += size) {
    const uint64_t end = std::min(n, first + size);
    std::vector<uint64_t> examples(end - first);
    std::iota(examples.begin(), examples.end(), first);
    sum += add(sides_[0], training_.block(first, end), examples, theta, alpha, 1 / static_cast<double>(n),
               gradient);
    if (report) report(end);
  }
  return sum;
}

LossSum RetrainProblem::batch(std::span<const uint64_t> examples, std::span<const float> theta, double alpha,
                              std::span<float> gradient) const {
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  return add(sides_[0], training_.gather(examples), examples, theta, alpha,
             1 / static_cast<double>(examples.size()), gradient);
}

LossSum RetrainProblem::held_out(std::span<const float> theta, double alpha) const {
  const ExampleSource& source = sides_[1].source;
  const uint64_t size = block_size(source);
  LossSum sum;
  for (uint64_t first = 0; first < source.examples(); first += size) {
    const uint64_t end = std::min(source.examples(), first + size);
    std::vector<uint64_t> examples(end - first);
    std::iota(examples.begin(), examples.end(), first);
    sum += add(sides_[1], source.block(first, end), examples, theta, alpha, 1, {});
  }
  return sum;
}

}  // namespace selfnorm
