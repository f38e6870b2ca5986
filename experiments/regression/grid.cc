#include "experiments/regression/grid.h"

#include <algorithm>
#include <cmath>

#include "normalizer/quadrature/conditional_quadrature.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRowsAtOnce = 32;

std::vector<double> true_log_density(const RegressionTask& task, double x, const LineGrid& y) {
  std::vector<double> out(y.points);
  for (size_t j = 0; j < y.points; ++j) out[j] = task.log_density(std::span(&x, 1), y.at(j));
  return out;
}

EncodedFrame inputs_on(const Regressor& model, const LineGrid& x) {
  EncodingReport report;
  return model.encoder.encode(column_frame(model.encoder.columns().front(), x), report);
}

// Column x of a picture.
void set_column(std::span<const double> log_density, size_t x, size_t columns, std::vector<double>& picture) {
  for (size_t j = 0; j < log_density.size(); ++j) picture[j * columns + x] = log_density[j];
}

std::vector<double> darkness(std::vector<double> log_density) {
  const double most = *std::max_element(log_density.begin(), log_density.end());
  for (double& v : log_density) v = std::round(1000 * std::exp((v - most) / 2)) / 1000;
  return log_density;
}

}  // namespace

Frame column_frame(const std::string& name, const LineGrid& x) {
  Frame out;
  out.file = "grid";
  out.rows = x.points;
  FrameColumn column{.name = name};
  for (size_t i = 0; i < x.points; ++i) {
    column.number.push_back(x.at(i));
    out.line.push_back(i + 1);
  }
  out.columns.push_back(std::move(column));
  return out;
}

void grid_log_density(const Regressor& model, const InputRows& x, const LineGrid& y,
                      const std::function<void(uint64_t, std::span<const double>)>& each) {
  const size_t n = y.points;
  std::vector<float> u(kRowsAtOnce * n);
  std::vector<uint32_t> row(u.size());
  for (size_t i = 0; i < u.size(); ++i) {
    u[i] = static_cast<float>((y.at(i % n) - model.target_mean[0]) / model.target_scale[0]);
    row[i] = static_cast<uint32_t>(i / n);
  }
  std::vector<double> score(u.size());
  const double volume = model.log_volume() + std::log(static_cast<double>(model.members.size()));
  for (uint64_t begin = 0; begin < x.rows(); begin += kRowsAtOnce) {
    const uint64_t rows = std::min(kRowsAtOnce, x.rows() - begin);
    const InputRows block = x.slice(begin, begin + rows);
    const std::span<double> out = std::span(score).first(rows * n);
    std::vector<LogSumExp> members(out.size());
    for (size_t m = 0; m < model.members.size(); ++m) {
      const auto scores = prepare_scores(model, m, block);
      const std::vector<ConditionalLogZ> a = conditional_log_z(*scores, {.first_row = begin});
      scores->score({u.data(), out.size(), 1}, std::span(row).first(out.size()), out);
      for (size_t i = 0; i < out.size(); ++i) members[i].add(out[i] - a[row[i]].value);
    }
    for (size_t i = 0; i < out.size(); ++i) out[i] = members[i].value() - volume;
    for (uint64_t i = 0; i < rows; ++i) each(begin + i, out.subspan(i * n, n));
  }
}

double log_grid_mass(std::span<const double> log_density, const LineGrid& y) {
  LogSumExp sum;
  for (const double v : log_density) sum.add(v);
  return sum.value() + std::log(y.cell());
}

double mean_log_grid_mass(const Regressor& model, const InputRows& x, const LineGrid& y) {
  double sum = 0;
  grid_log_density(model, x, y,
                   [&](uint64_t, std::span<const double> log_p) { sum += log_grid_mass(log_p, y); });
  return sum / static_cast<double>(x.rows());
}

GridDivergence grid_divergence(const Regressor& model, const RegressionTask& task, const LineGrid& x,
                               const LineGrid& y) {
  const EncodedFrame inputs = inputs_on(model, x);
  GridDivergence out;
  grid_log_density(model, inputs.view(), y, [&](uint64_t i, std::span<const double> log_p) {
    const std::vector<double> truth = true_log_density(task, x.at(i), y);
    const double true_mass = log_grid_mass(truth, y);
    double whole = 0;
    for (size_t j = 0; j < y.points; ++j)
      if (truth[j] > -INFINITY)
        whole += std::exp(truth[j] - true_mass) * y.cell() * (truth[j] - true_mass - log_p[j]);
    const double share = 1 / static_cast<double>(x.points);
    out.whole += share * whole;
    out.on_grid += share * (whole + log_grid_mass(log_p, y));
  });
  return out;
}

std::vector<double> density_picture(const Regressor& model, const LineGrid& x, const LineGrid& y) {
  const EncodedFrame inputs = inputs_on(model, x);
  std::vector<double> out(x.points * y.points);
  grid_log_density(model, inputs.view(), y,
                   [&](uint64_t i, std::span<const double> log_p) { set_column(log_p, i, x.points, out); });
  return darkness(std::move(out));
}

std::vector<double> density_picture(const RegressionTask& task, const LineGrid& x, const LineGrid& y) {
  std::vector<double> out(x.points * y.points);
  for (size_t i = 0; i < x.points; ++i) set_column(true_log_density(task, x.at(i), y), i, x.points, out);
  return darkness(std::move(out));
}

}  // namespace selfnorm
