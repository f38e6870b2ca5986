#include "selfnorm/density.h"

#include <numeric>
#include <tuple>

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

std::unique_ptr<PointSource> points_of(const Rows& x, const PointGeometry& geometry = {}) {
  check_rows(x);
  return directed_points(make_point_source(x.columns, {x.values.begin(), x.values.end()}), geometry);
}

}  // namespace

EnergyDensity EnergyDensity::train(const Rows& x, const Options& options) {
  TrainObserver silent;
  return train(x, options, silent);
}

EnergyDensity EnergyDensity::train(const Rows& x, const Options& given, TrainObserver& observer) {
  DensityOptions options, initial;
  density_option_table(options).set(given);
  options.validate();
  density_option_table(options).refuse_idle(density_option_table(initial));
  std::unique_ptr<PointSource> points = points_of(x);
  options.geometry = resolve_geometry(options, *points);
  points = directed_points(std::move(points), options.geometry);
  std::vector<uint64_t> train(x.rows()), valid;
  std::iota(train.begin(), train.end(), uint64_t{0});
  if (const double part = default_hold_out(x.rows()); part > 0)
    std::tie(train, valid) = random_split(x.rows(), part, options.seed);
  DensityResult result = train_density(*points, train, valid, options, {}, observer);
  check_ending(result, observer);
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

std::vector<double> EnergyDensity::log_densities(const Rows& x) const {
  check_rows(x);
  if (x.columns != columns())
    throw_error("found rows of {} numbers; the density was trained on {}", x.columns, columns());
  const auto points = points_of(x, content_->model.geometry);
  std::vector<uint64_t> rows(x.rows());
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  std::vector<float> seen(x.rows() * points->columns());
  points->read(rows, seen);
  return density_scores(content_->model, {seen.data(), x.rows(), points->columns()});
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
          .b = found.b,
          .log_z = found.log_z.value,
          .method = found.log_z.method};
}

std::vector<float> EnergyDensity::sample(uint64_t n, uint64_t seed) const {
  DensitySampleOptions options{.count = n, .seed = seed};
  options.validate();
  return sample_density_model(content_->model, options).rows;
}

}  // namespace selfnorm
