#include "selfnorm/density.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "api/rows.h"
#include "base/failure.h"
#include "data/example_source.h"
#include "data/points/point_source.h"
#include "family/density/density_evaluation.h"
#include "family/density/density_sample.h"
#include "family/density/train/density_trainer.h"

namespace selfnorm {

struct EnergyDensity::Content {
  DensityModel model;
};

namespace {

constexpr uint64_t kPointsAtOnce = 4096;

std::unique_ptr<PointSource> points_of(const Rows& x, const PointGeometry& geometry = {}) {
  return directed_points(make_row_points(x), geometry);
}

}  // namespace

EnergyDensity EnergyDensity::train(const Rows& x, const Options& given, const Run& run) {
  refuse_weights(run);
  DensityOptions options, initial;
  density_option_table(options).set(given);
  options.validate();
  density_option_table(options).refuse_idle(density_option_table(initial));
  check_rows(x);
  std::unique_ptr<PointSource> points = points_of(x);
  options.geometry = resolve_geometry(options, *points);
  points = directed_points(std::move(points), options.geometry);
  refuse_steps_of_fit(options, points->columns());
  std::vector<uint64_t> train(x.rows()), valid;
  std::iota(train.begin(), train.end(), uint64_t{0});
  if (const double part = hold_out_share(run, default_hold_out(x.rows())); part > 0)
    std::tie(train, valid) = random_split(x.rows(), part, options.seed);
  DensityResult result = train_density(*points, train, valid, options, run.checkpoint, observer_of(run));
  check_ending(result, run);
  const PointSubset judges(*points, valid.empty() ? train : valid);
  SettledDensity settled = settle_normalizer(result.model, judges, options);
  if (!valid.empty()) keep_proposal(result.model, judges, settled.evaluation);
  return EnergyDensity(std::make_shared<Content>(Content{std::move(result.model)}));
}

EnergyDensity EnergyDensity::load(const std::string& path) {
  return EnergyDensity(std::make_shared<Content>(Content{load_density(model_file_of(path))}));
}

void EnergyDensity::save(const std::string& path) const { save_density(content_->model, path); }

uint32_t EnergyDensity::columns() const { return content_->model.columns(); }

uint64_t EnergyDensity::parameters() const {
  const DensityModel& model = content_->model;
  uint64_t out = std::as_const(*model.energy).parameters().size();
  if (model.base)
    for (const auto& [name, values] : model.base->record().values) out += values.size();
  return out;
}

std::vector<double> EnergyDensity::log_densities(const Rows& x) const {
  if (x.columns() != columns())
    throw_error("found rows of {} numbers; the density was trained on {}", x.columns(), columns());
  const auto points = points_of(x, content_->model.geometry);
  std::vector<double> out;
  for (uint64_t begin = 0; begin < x.rows(); begin += kPointsAtOnce) {
    std::vector<uint64_t> rows(std::min(kPointsAtOnce, x.rows() - begin));
    std::iota(rows.begin(), rows.end(), begin);
    std::vector<float> seen(rows.size() * points->columns());
    points->read(rows, seen);
    const auto found = density_scores(content_->model, {seen.data(), rows.size(), points->columns()});
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

DensityNormalizer EnergyDensity::normalizer() const {
  const JudgedLogZ found = judged_log_z(content_->model, {});
  const LogZEstimate& z = found.estimate;
  return {content_->model.log_normalizer, z.value, z.low, z.high, z.method, found.distrust};
}

DensityQuality EnergyDensity::evaluate(const Rows& x) const {
  const DensityEvaluation found =
      evaluate_density(content_->model, *points_of(x, content_->model.geometry), {});
  return {.rows = found.rows,
          .is_trusted = found.is_trusted,
          .distrust = found.distrust,
          .nll = found.nll,
          .nll_low = found.nll_low,
          .nll_high = found.nll_high,
          .nll_b = found.nll_b,
          .nll_error = found.nll_error,
          .b = found.b,
          .log_z = found.log_z.value,
          .log_z_low = found.log_z.low,
          .log_z_high = found.log_z.high,
          .method = found.log_z.method};
}

std::vector<float> EnergyDensity::sample(const Options& named, std::string* doubt) const {
  DensitySampleOptions options;
  sample_option_table(options).set(named);
  options.validate();
  DensitySample found = sample_density_model(content_->model, options);
  if (doubt != nullptr) *doubt += sample_doubt(found, options.count);
  return std::move(found.rows);
}

}  // namespace selfnorm
