#include "family/density/exponential/family_estimate.h"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "family/density/train/density_options.h"
#include "family/density/train/density_problem.h"
#include "family/density/train/density_trainer.h"
#include "math/kernels.h"
#include "model/energy/make_energy.h"
#include "normalizer/point_enumeration.h"
#include "proposal/direction/direction_mixture.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMostEnumerated = uint64_t{1} << 18;
constexpr double kAgreement = 1e-6;          // of log Z by the nodes and by another method, nats
constexpr double kEstimatePrecision = 3e-7;  // of the other method, where it is a quadrature
constexpr double kWidth = 12, kWidening = 1.5;
constexpr double kDepth = 36;
constexpr uint32_t kCells[] = {0, 128, 32}, kRefining[] = {0, 4, 2};  // by dimension
constexpr int kRounds = 4;
constexpr double kLargestFactor = 1e16;  // of the family's own start

FitNodes as_fit_nodes(const QuadratureNodes& nodes, uint32_t dimension) {
  return {{nodes.x.data(), nodes.log_weight.size(), dimension}, nodes.log_weight};
}

FamilyPlan coordinate_plan(const FamilyPlan& plan, size_t j) {
  FamilyPlan out{plan.word, 1};
  if (!plan.lower.empty()) {
    out.lower = {plan.lower[j]};
    out.upper = {plan.upper[j]};
  }
  return out;
}

bool is_product(const ExponentialFamily& family) {
  return std::ranges::all_of(family.terms(), [](const Statistic& t) { return t.is_of_one(); });
}

// The units of the data are not known to the family: the multiple of its start with the largest likelihood.
void choose_start(ExponentialFamily& family, const FamilyLikelihood& likelihood) {
  const std::vector<double> start = family.domain().start();
  std::vector<double> best = start;
  double most = -INFINITY;
  for (double factor = 1 / kLargestFactor; factor <= kLargestFactor; factor *= 10) {
    std::vector<double> eta = start;
    for (double& e : eta) e *= factor;
    const double value = likelihood.value(eta, likelihood.log_z(eta));
    if (value > most) {
      most = value;
      best = eta;
    }
  }
  family.set_eta(best);
}

FamilyEstimate newton(ExponentialFamily& family, const FamilyLikelihood& likelihood) {
  choose_start(family, likelihood);
  const ExponentialFit fit = fit_exponential(family, likelihood);
  FamilyEstimate out;
  out.eta = fit.eta;
  out.iterations = fit.iterations;
  out.gradient_size = fit.gradient_size;
  out.reason = fit.reason;
  if (!fit.is_converged)
    out.problem = fmt::format("the fit of {} did not converge: {}; the gradient is {:.2g}",
                              family.record().kind, fit.reason, fit.gradient_size);
  family.set_eta(fit.eta);
  out.b = likelihood.log_z(family.eta());
  return out;
}

FamilyEstimate over_all_points(ExponentialFamily& family, const FamilyData& data) {
  const Support support = family.support();
  QuadratureNodes points;
  points.log_weight.assign(countable_points(support), 0);
  points.x.resize(points.log_weight.size() * family.dimension());
  enumerate_points(support, 0, points.log_weight.size(), points.x);
  return newton(family, {family, data.means, as_fit_nodes(points, family.dimension())});
}

LogZEstimate other_log_z(const ExponentialFamily& family, const FamilyData& data) {
  if (const auto z = family.log_z(family.eta())) return {"closed-form", *z, *z, *z, 0, 0};
  QuadratureOptions options;
  for (const FamilyAxis& axis : data.axes) {
    options.centre.push_back(axis.mean());
    options.scale.push_back(axis.scale());
  }
  options.precision = kEstimatePrecision;
  return quadrature_log_z(family, options);
}

// Rounds of wider and finer nodes, of the least depth or of the most.
FamilyEstimate over_nodes(ExponentialFamily& family, const FamilyData& data, double depth) {
  const uint32_t d = family.dimension();
  FamilyReach reach{kWidth, depth};
  uint32_t cells = kCells[d];
  FamilyEstimate out;
  for (int round = 0; round < kRounds; ++round, reach.width *= kWidening, cells *= kRefining[d]) {
    const QuadratureNodes nodes = family_nodes(data.axes, reach, cells);
    out = newton(family, {family, data.means, as_fit_nodes(nodes, d)});
    if (!out.problem.empty()) continue;
    try {
      const LogZEstimate z = other_log_z(family, data);
      const double difference = std::abs(z.value - out.b);
      out.b = z.value;
      if (difference <= kAgreement + (z.high - z.low)) return out;
      out.problem =
          fmt::format("log Z of {} on fixed nodes is off by {:.2g} nats", family.record().kind, difference);
    } catch (const Error& error) {
      out.problem = error.what();
    }
  }
  out.is_exact = false;
  out.problem += "; it is trained by minibatches instead";
  return out;
}

FamilyEstimate over_nodes(ExponentialFamily& family, const FamilyData& data) {
  FamilyEstimate out = over_nodes(family, data, 0);
  const bool has_depth = std::any_of(data.axes.begin(), data.axes.end(),
                                     [](const FamilyAxis& axis) { return axis.is_half_line(); });
  if (!out.is_exact && has_depth) out = over_nodes(family, data, kDepth);
  return out;
}

FamilyEstimate over_coordinates(const FamilyPlan& plan, const FamilyData& data) {
  const size_t d = plan.dimension, count = data.means.t.size() / d;
  FamilyEstimate out;
  out.eta.resize(data.means.t.size());
  for (size_t j = 0; j < d; ++j) {
    ExponentialFamily family(coordinate_plan(plan, j));
    FamilyData column;
    column.axes.push_back(data.axes[j]);
    for (size_t k = 0; k < count; ++k) column.means.t.push_back(data.means.t[k * d + j]);
    const FamilyEstimate one = over_nodes(family, column);
    if (!one.problem.empty() && d > 1) out.problem = fmt::format("column {}: {}", j, one.problem);
    if (!one.problem.empty() && d == 1) out.problem = one.problem;
    out.is_exact = one.is_exact;
    if (!one.is_exact) return out;
    for (size_t k = 0; k < count; ++k) out.eta[k * d + j] = one.eta[k];
    out.b += one.b;
    out.iterations += one.iterations;
    if (one.gradient_size >= out.gradient_size) {
      out.gradient_size = one.gradient_size;
      out.reason = one.reason;
    }
  }
  return out;
}

FamilyEstimate by_moments(ExponentialFamily& family, const MatchedMoments& matched) {
  FamilyEstimate out;
  out.is_closed_form = true;
  out.eta = matched.eta;
  family.set_eta(out.eta);
  out.b = *family.log_z(family.eta());
  out.reason = "the moments match those of the data: the maximum of the likelihood in closed form";
  if (matched.is_at_the_edge)
    out.problem =
        "the likelihood has no maximum (a column that does not vary, or follows from others): the estimate "
        "is taken just inside";
  return out;
}

constexpr double kInside = 1e-9;
constexpr double kLeastEigenvalue = 1e-6;  // of correlations; eta is kept in float32

MatchedMoments gaussian(uint32_t d, std::span<const double> mean) {
  const auto n = static_cast<Eigen::Index>(d);
  SELFNORM_CHECK(mean.size() == size_t{d} * (d + 3) / 2);
  const Eigen::Map<const Eigen::VectorXd> mu(mean.data(), n);
  Eigen::MatrixXd s = -mu * mu.transpose();
  size_t k = 2 * size_t{d};
  for (Eigen::Index i = 0; i < n; ++i) {
    s(i, i) += mean[d + static_cast<size_t>(i)];
    for (Eigen::Index j = i + 1; j < n; ++j, ++k) s(j, i) = s(i, j) += mean[k];
  }
  Eigen::VectorXd scale(n);
  for (Eigen::Index i = 0; i < n; ++i) scale(i) = s(i, i) > 0 ? std::sqrt(s(i, i)) : 1;
  const Eigen::VectorXd inverse = scale.cwiseInverse();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(inverse.asDiagonal() * s *
                                                              inverse.asDiagonal());
  const Eigen::VectorXd eigenvalues = solver.eigenvalues().cwiseMax(kLeastEigenvalue);
  const Eigen::MatrixXd v = inverse.asDiagonal() * solver.eigenvectors();
  const Eigen::MatrixXd p = v * eigenvalues.cwiseInverse().asDiagonal() * v.transpose();
  const Eigen::VectorXd h = p * mu;
  MatchedMoments out;
  out.is_at_the_edge = solver.eigenvalues().minCoeff() < kLeastEigenvalue;
  out.eta.assign(h.data(), h.data() + n);
  for (Eigen::Index i = 0; i < n; ++i) out.eta.push_back(-p(i, i) / 2);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = i + 1; j < n; ++j) out.eta.push_back(-p(i, j));
  return out;
}

// The inverse of the mean of one coordinate with one statistic, at a mean inside (0, most).
template <class Inverse>
MatchedMoments product(std::span<const double> mean, double most, const Inverse& inverse) {
  MatchedMoments out;
  for (const double m : mean) {
    const bool is_inside = m > 0 && m < most;
    out.is_at_the_edge = out.is_at_the_edge || !is_inside;
    out.eta.push_back(inverse(is_inside ? m : m > 0 ? most - kInside : kInside));
  }
  return out;
}

constexpr double kMostFisher = 1e7;  // kappa; its points are 32-bit floats

MatchedMoments von_mises_fisher(std::span<const double> mean) {
  const double r = std::hypot(mean[0], mean[1], mean[2]);
  const double kappa = fisher_concentration(r, kMostFisher);
  MatchedMoments out;
  out.is_at_the_edge = kappa >= kMostFisher * (1 - kInside);
  for (const double m : mean) out.eta.push_back(r > 0 ? kappa * m / r : 0);
  return out;
}

}  // namespace

bool has_family_estimate(const FamilyPlan& plan) {
  const ExponentialFamily family(plan);
  const Support support = family.support();
  if (plan.word == "gaussian" || plan.word == "exponential" || plan.word == "poisson" ||
      plan.word == "bernoulli")
    return true;
  if (support.space == Support::Space::levels) {
    const uint64_t points = countable_points(support);
    return points > 0 && points <= kMostEnumerated;
  }
  return support.is_real() && (plan.dimension <= 2 || is_product(family));
}

FamilyEstimate family_estimate(const FamilyPlan& plan, const FamilyData& data) {
  ExponentialFamily family(plan);
  if (const auto matched = matched_moments(plan.word, plan.dimension, data.means.t))
    return by_moments(family, *matched);
  FamilyEstimate out = !family.support().is_real() ? over_all_points(family, data)
                       : is_product(family)        ? over_coordinates(plan, data)
                                                   : over_nodes(family, data);
  out.reason = fmt::format("{}, {:.2g}", out.reason, out.gradient_size);
  return out;
}

std::optional<MatchedMoments> matched_moments(const std::string& word, uint32_t dimension,
                                              std::span<const double> mean) {
  if (word == "gaussian") return gaussian(dimension, mean);
  if (word == "exponential") return product(mean, INFINITY, [](double m) { return -1 / m; });
  if (word == "poisson") return product(mean, INFINITY, [](double m) { return std::log(m); });
  if (word == "bernoulli") return product(mean, 1, [](double m) { return std::log(m) - std::log1p(-m); });
  if (word == "von-mises-fisher") return von_mises_fisher(mean);
  return std::nullopt;
}

namespace {

FamilyData look_at(const DensityProblem& problem, const ExponentialFamily& family,
                   std::span<const uint64_t> rows) {
  FamilyMean mean(family);
  FamilyData out;
  if (family.support().is_real()) out.axes = family_axes(family.support(), family.dimension());
  problem.for_blocks(rows, [&](const Points& x, std::span<const uint64_t> numbers) {
    mean.add(x, numbers);
    for (uint64_t i = 0; i < x.rows; ++i)
      for (size_t j = 0; j < out.axes.size(); ++j) out.axes[j].add(x.row(i)[j]);
  });
  out.means = mean.means();
  return out;
}

// The mean of -log p over the rows in the units of the data; nothing when one of them is outside the support.
std::optional<double> negative_log_likelihood(const DensityProblem& problem, std::span<const uint64_t> rows,
                                              double b) {
  if (rows.empty()) return std::nullopt;
  double sum = 0;
  std::vector<double> score;
  problem.for_blocks(rows, [&](const Points& x, std::span<const uint64_t>) {
    score.resize(x.rows);
    problem.energy().score(x, score);
    for (const double s : score) sum += s;
  });
  const double nll = b - sum / static_cast<double>(rows.size()) + problem.standardisation().log_volume();
  return std::isfinite(nll) ? std::optional(nll) : std::nullopt;
}

}  // namespace

bool fits_family(const DensityOptions& options, uint32_t dimension) {
  if (options.objective != "snl" || options.normalizer != "constant" || options.optimiser == "adam" ||
      options.learn_proposal != "none" || options.base == "proposal" || options.weight_decay > 0)
    return false;
  return is_exponential_family(options.energy) &&
         has_family_estimate({options.energy, dimension, options.lower, options.upper});
}

void refuse_steps_of_fit(DensityOptions options, uint32_t dimension) {
  if (!fits_family(options, dimension)) return;
  OptionTable table = density_option_table(options);
  for (const char* name : {"steps", "batch", "learning-rate", "schedule", "clip", "patience", "samples",
                           "normalizer-rate", "normalizer-steps", "drift", "calibrate"})
    table.find(name)->only(
        false, option_text("optimiser", "adam"),
        fmt::format("{}, by which {} is fitted at once", option_text("optimiser", options.optimiser),
                    option_text("energy", options.energy)));
  DensityOptions initial;
  table.refuse_idle(density_option_table(initial));
}

std::optional<DensityResult> train_family(const PointSource& data, std::span<const uint64_t> train_rows,
                                          std::span<const uint64_t> valid_rows, const DensityOptions& options,
                                          TrainObserver& observer) {
  SELFNORM_CHECK(fits_family(options, data.columns()));
  const auto start = std::chrono::steady_clock::now();
  DensityProblem problem(data, train_rows, valid_rows, options);
  auto& family = dynamic_cast<ExponentialFamily&>(problem.energy());
  const FamilyData seen = look_at(problem, family, train_rows);
  const FamilyEstimate estimate =
      family_estimate({options.energy, data.columns(), options.lower, options.upper}, seen);
  if (!estimate.problem.empty()) observer.on_warning(estimate.problem);
  if (!estimate.is_exact) return std::nullopt;
  family.set_eta(estimate.eta);

  DensityResult out;
  const std::vector<double> eta = family.eta();
  const double nll = estimate.b - dot(eta.data(), seen.means.t.data(), eta.size()) - seen.means.log_carrier;
  out.last.step = out.last.steps = std::max<uint64_t>(1, estimate.iterations);
  out.last.loss = nll;
  out.last.gradient_norm = estimate.gradient_size;
  out.last.log_normalizer = estimate.b;
  out.last.nll_estimate = nll + problem.standardisation().log_volume();
  out.last.valid_nll_estimate = negative_log_likelihood(problem, valid_rows, estimate.b);
  out.last.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  observer.on_progress(out.last);
  out.reason = estimate.reason;
  out.learned_normalizer = estimate.b;
  out.optimiser = estimate.is_closed_form ? "" : "newton";

  DensityOptions used = problem.options();
  used.optimiser = out.optimiser.empty() ? "closed-form" : out.optimiser;
  out.model = problem.release();
  out.model.log_normalizer = estimate.b;
  out.model.normalizer_kind = "learned";
  record_training(used, out.reason, train_rows.size(), out.last, out.model);
  return out;
}

}  // namespace selfnorm
