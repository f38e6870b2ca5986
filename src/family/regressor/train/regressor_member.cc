#include "family/regressor/train/regressor_member.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "family/regressor/train/regressor_problem.h"
#include "family/regressor/train/regressor_race.h"
#include "math/kernels.h"
#include "math/random.h"
#include "normalizer/quadrature/conditional_quadrature.h"
#include "normalizer/quadrature/line_distribution.h"
#include "objective/registry.h"
#include "proposal/density/gaussian_terms.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kFewMemberRows = 8;
constexpr uint64_t kMemberOrderStream = 0x0D3A, kFloorStream = 0xF100, kInputStream = 0x1A0,
                   kCheckStream = 0xC4EC;
constexpr uint64_t kMemberReports = 100;  // in a run
// Of a check, by the dimension of y, which is what quadrature costs.
constexpr uint64_t kMostCheckRows[] = {1000, 200, 50};
constexpr double kCheckPrecision[] = {1e-3, 1e-2, 3e-2};  // of A
constexpr uint64_t kBetweenStream = 0xBE77, kBetweenDraws = 8;

double mixture_nll(const ConditionalMixture& mixture, const MixturePoints& at, double tail_weight,
                   std::span<const double> weight) {
  std::vector<double> log_q(at.row.size()), log_g(at.row.size());
  mixture.log_prob(at, log_q, log_g);
  double sum = 0;
  broaden(log_q, log_g, tail_weight);
  for (size_t i = 0; i < log_q.size(); ++i) sum -= (weight.empty() ? 1 : weight[i]) * log_q[i];
  return sum / static_cast<double>(log_q.size());
}

// A(x) where targets are numbers, and the mass where they are intervals.
void add_masses(const RegressorProblem& problem, const ConditionalScores& scores,
                std::span<const uint64_t> rows, std::span<double> nll) {
  const std::vector<PredictiveNodes> nodes =
      conditional_quadrature(scores, {.precision = kCheckPrecision[0]});
  for (size_t i = 0; i < rows.size(); ++i) {
    if (problem.is_interval(rows[i])) {
      const PredictiveNodes* const own = &nodes[i];
      nll[i] = -LineDistribution::of({&own, 1}, 0, 1, 0, 1)
                    .log_mass({problem.ends().low[rows[i]], problem.ends().high[rows[i]]});
    } else if (!scores.is_normalised()) {
      nll[i] += nodes[i].log_normalizer;
    }
  }
}

}  // namespace

std::vector<double> held_out_nlls(const RegressorProblem& problem, const RegressorNetworks& networks,
                                  std::span<const uint64_t> rows, bool is_tilted) {
  const EncodedFrame x = problem.inputs().take(rows);
  const std::vector<float> y = problem.take_targets(rows);
  const auto scores = prepare_scores(problem.model(), networks, x.view());
  std::vector<uint32_t> row(rows.size());
  for (uint32_t i = 0; i < row.size(); ++i) row[i] = i;
  std::vector<double> s(rows.size());
  scores->score({y.data(), rows.size(), problem.targets().columns}, row, s);
  std::vector<double> nll(rows.size(), problem.model().log_volume());
  for (size_t i = 0; i < s.size(); ++i) nll[i] -= s[i];
  if (!problem.ends().low.empty()) {
    add_masses(problem, *scores, rows, nll);
  } else if (is_tilted) {
    const auto log_z =
        conditional_log_z(*scores, {.precision = kCheckPrecision[problem.model().dimension() - 1]});
    for (size_t i = 0; i < log_z.size(); ++i) nll[i] += log_z[i].value;
  }
  return nll;
}

double held_out_nll(const RegressorProblem& problem, const RegressorNetworks& networks,
                    std::span<const uint64_t> rows, bool is_tilted) {
  const std::vector<double> nll = held_out_nlls(problem, networks, rows, is_tilted);
  double sum = 0, weights = 0;
  for (size_t i = 0; i < nll.size(); ++i) {
    const double weight = problem.weight(rows[i]);
    if (weight == 0) continue;
    sum += weight * nll[i];
    weights += weight;
  }
  return weights > 0 ? sum / weights : 0;
}

double effective_rows(const RegressorProblem& problem, std::span<const uint64_t> rows) {
  double sum = 0, squares = 0;
  for (const uint64_t row : rows) {
    sum += problem.weight(row);
    squares += problem.weight(row) * problem.weight(row);
  }
  return effective_rows(sum, squares);
}

bool can_be_tempered(const RegressorOptions& options) {
  return options.temperature && (options.calibrate || !objective_entry(options.objective).uses_normalizer);
}

RegressorMember::RegressorMember(const RegressorProblem& problem, uint64_t seed,
                                 std::vector<uint64_t> train_rows, std::vector<uint64_t> valid_rows)
    : problem_(problem),
      options_(problem.options()),
      train_rows_(std::move(train_rows)),
      valid_rows_(std::move(valid_rows)),
      networks_(problem.make_networks(seed, train_rows_)),
      parameters_(networks_.parameters()),
      pass_(networks_),
      minibatches_(train_rows_.size(), options_.batch, RandomStream(seed, kMemberOrderStream).next()),
      adam_(parameters_.size(), options_.clip, options_.weight_decay),
      theta_(parameters_.gather()),
      average_(theta_),
      gradient_parts_(parameters_.parts(adam_.gradient)),
      rate_factor_(parameters_.blocks(), 1.0) {
  options_.seed = seed;
  if (const uint64_t most = kMostCheckRows[problem.model().dimension() - 1]; valid_rows_.size() > most) {
    RandomStream(seed, kCheckStream).shuffle(valid_rows_);
    valid_rows_.resize(most);
  }
  if (networks_.normalizer) rate_factor_.back() = options_.normalizer_rate;
  if (networks_.tilt) tilt_step_ = make_regressor_step({*networks_.tilt, problem_.mixture(), options_});
  plan_.epoch = minibatches_.per_epoch();
  plan_.steps = std::max<uint64_t>(1, options_.epochs * plan_.epoch);
  plan_.schedule = options_.schedule;
  plan_.report_every = std::max<uint64_t>(1, plan_.steps / kMemberReports);
  plan_.check_every = plan_.good_every = std::max<uint64_t>(1, plan_.steps / options_.checks);
  plan_.checks = true;
  plan_.keeps_best = !valid_rows_.empty();
  plan_.patience = options_.patience;
  warm_steps_ = tilt_step_ ? static_cast<uint64_t>(options_.warm_up * static_cast<double>(plan_.steps)) : 0;
  open_device();
}

void RegressorMember::read_batch(uint64_t at) {
  const std::span<const uint64_t> places = minibatches_.of(at);
  chosen_.resize(places.size());
  for (size_t i = 0; i < places.size(); ++i) chosen_[i] = train_rows_[places[i]];
  batch_ = problem_.inputs().take(chosen_);
  if (*options_.input_noise > 0) {
    RandomStream random(RandomStream(options_.seed, kInputStream).next(), at);
    noise_.resize(batch_.number.size());
    fill_normals(random, noise_);
    for (size_t i = 0; i < noise_.size(); ++i)
      batch_.number[i] += static_cast<float>(*options_.input_noise * noise_[i]);
  }
  weight_.clear();
  if (!options_.weight.empty())
    for (const uint64_t row : chosen_) weight_.push_back(problem_.weight(row));
  const Points all = problem_.targets();
  target_.resize(chosen_.size() * all.columns);
  RandomStream random(RandomStream(options_.seed, kFloorStream).next(), at);
  for (uint64_t i = 0; i < chosen_.size(); ++i)
    for (uint32_t j = 0; j < all.columns; ++j) {
      const double floor = problem_.noise_floor()[j], y = static_cast<double>(all.row(chosen_[i])[j]);
      target_[i * all.columns + j] =
          floor > 0 ? reflected(problem_.mixture(), y + floor * random.normal(), j) : all.row(chosen_[i])[j];
    }
}

// Targets that are intervals are drawn anew in every step: from the base given the interval, and once there
// is a tilt resampled by exp f, so nearly from the model given the interval. The mean over such draws of a
// gradient of log p(y|x) is that of the log mass of the interval (Fisher's identity).
void RegressorMember::draw_targets(uint64_t at, bool is_tilted) {
  const uint64_t seed = RandomStream(RandomStream(options_.seed, kBetweenStream).next(), at).next();
  std::vector<float> drawn(kBetweenDraws);
  std::vector<double> f(kBetweenDraws, 0);
  for (uint64_t i = 0; i < chosen_.size(); ++i) {
    if (!problem_.is_interval(chosen_[i])) continue;
    RandomStream random(seed, i);
    problem_.mixture().sample_between(
        pass_.mixture().row(i), options_.base == "broad" ? 1 : options_.tail_weight,
        {problem_.ends().low[chosen_[i]], problem_.ends().high[chosen_[i]]}, random, drawn);
    if (is_tilted) {
      const std::vector<uint32_t> row(kBetweenDraws, static_cast<uint32_t>(i));
      networks_.tilt->score({pass_.context(), {drawn.data(), kBetweenDraws, 1}, row}, f);
    }
    const LogSumExp total = exp_in_place(f.data(), f.size());
    double u = random.uniform() * total.sum;
    size_t k = 0;
    while (k + 1 < kBetweenDraws && u >= f[k]) u -= f[k++];
    target_[i] = drawn[k];
    std::ranges::fill(f, 0.0);
  }
}

Step RegressorMember::begin() {
  if (device_) put_on_device();
  return {};
}

Step RegressorMember::gradient(uint64_t at) {
  if (device_) {
    const selfnorm_regressor_record& found = device_->record(at);
    is_between_runs_ = false;
    return found.event == SELFNORM_STEP_MOVED ? Step{} : Step::diverged();
  }
  read_batch(at);
  const bool is_tilted = this->is_tilted(at);
  std::fill(adam_.gradient.begin(), adam_.gradient.end(), 0.0f);
  pass_.forward(batch_.view(), is_tilted);
  if (!problem_.ends().low.empty()) draw_targets(at, is_tilted);
  const uint64_t n = batch_.rows;
  const Points y{target_.data(), n, problem_.targets().columns};

  terms_ = {};
  if (is_tilted) {
    const size_t tilt = gradient_parts_.size() - (networks_.normalizer ? 2 : 1);
    terms_ = (*tilt_step_)({.y = y,
                            .mixture = pass_.mixture(),
                            .context = pass_.context(),
                            .b = pass_.normalizer(),
                            .step = at,
                            .weight = weight_},
                           {.mixture = pass_.d_mixture(),
                            .context = pass_.d_context(),
                            .b = pass_.d_normalizer(),
                            .tilt = gradient_parts_[tilt]});
  }
  if (!is_tilted || options_.learn_proposal != "kl") {
    own_row_.resize(n);
    for (uint32_t i = 0; i < n; ++i) own_row_[i] = i;
    const MixturePoints points{pass_.mixture(), y, own_row_};
    std::vector<double> weight(n, -1 / static_cast<double>(n));
    for (uint64_t i = 0; i < weight_.size(); ++i) weight[i] *= weight_[i];
    problem_.mixture().add_gradient(points, options_.tail_weight, weight, pass_.d_mixture());
    if (!is_tilted) terms_.loss = mixture_nll(problem_.mixture(), points, options_.tail_weight, weight_);
  }
  pass_.backward(gradient_parts_);
  return adam_.is_finite(terms_.loss) ? Step{} : Step::diverged();
}

double RegressorMember::rate(uint64_t at, double factor) const {
  const double ramp = std::min(1.0, static_cast<double>(at + 1) / static_cast<double>(options_.ramp + 1));
  return options_.learning_rate * ramp * factor;
}

double RegressorMember::late_rate(uint64_t at, double rate) const {
  return is_tilted(at) ? rate * late_start_factor(at + 1, warm_steps_) : rate;
}

bool RegressorMember::is_late(size_t network) const {
  const size_t tilt_features = networks_.tilt_features ? 1 : 0;
  return network > 1 + tilt_features || (network == 1 && tilt_features == 1);
}

Step RegressorMember::move(uint64_t at, double factor) {
  if (device_) return device_move(at);
  const double rate = this->rate(at, factor);
  adam_.begin(theta_, rate);
  for (size_t i = 0; i < gradient_parts_.size(); ++i)
    adam_.move(theta_, parameters_.offset(i), gradient_parts_[i].size(),
               (is_late(i) ? late_rate(at, rate) : rate) * rate_factor_[i]);
  if (options_.shared_scale)
    share_scales(problem_.mixture().shape(),
                 parameters_.part(std::span(theta_), networks_.tilt_features ? 2 : 1));
  use(theta_);
  move_average(theta_, at, options_.average, average_);
  loss_.add(terms_.loss);
  taken_ = at + 1;
  return {};
}

// Runs end where parameters are looked at.
void RegressorMember::open_device() {
  device_ = DeviceRegressor::on_chosen_device(
      problem_, networks_,
      {.rows = minibatches_.size(),
       .parameters = parameters_.size(),
       .end =
           [this](uint64_t at) {
             return std::min((at / plan_.check_every + 1) * plan_.check_every, plan_.steps);
           },
       .read =
           [this, schedule = Schedule{plan_.schedule, plan_.steps, plan_.epoch}](
               uint64_t at, const DeviceRegressorStep& out) {
             return read_for_device(at, schedule.factor(at), out);
           }});
}

selfnorm_regressor_at RegressorMember::read_for_device(uint64_t at, double factor,
                                                       const DeviceRegressorStep& out) {
  read_batch(at);
  const uint64_t n = batch_.rows;
  std::ranges::copy(batch_.number, out.number.begin());
  std::ranges::copy(target_, out.target.begin());
  std::ranges::copy(weight_, out.weight.begin());
  uint32_t first = 0;  // level of a column among those of all
  for (uint64_t k = 0; k < batch_.categorical; first += problem_.model().encoder.levels()[k++])
    for (uint64_t i = 0; i < n; ++i)
      out.level[i * batch_.categorical + k] = first + batch_.level[i * batch_.categorical + k];
  if (is_tilted(at))
    problem_.mixture().sample_numbers(n, options_.defence, candidate_sample_seed(options_.seed, at),
                                      out.choice.first(n * options_.samples),
                                      out.normal.first(n * options_.samples * problem_.targets().columns));
  return {.step = static_cast<int64_t>(at),
          .rate = rate(at, factor),
          .late_rate = late_rate(at, rate(at, factor)),
          .rows = static_cast<int32_t>(n),
          .is_warm = is_tilted(at) ? 0 : 1};
}

void RegressorMember::put_on_device() {
  AdaptiveState<float>& adam = adam_.optimiser().state();
  device_->put({.theta = theta_, .average = average_, .mean = adam.mean, .square = adam.square});
}

Step RegressorMember::device_move(uint64_t at) {
  const selfnorm_regressor_record found = device_->record(at);
  terms_ = {.loss = found.loss,
            .log_ratio = found.log_ratio,
            .effective_samples = found.effective,
            .has_estimate = is_tilted(at) && objective_entry(options_.objective).uses_estimate};
  device_b_ = found.b;
  adam_.note_norm(found.norm);
  loss_.add(terms_.loss);
  taken_ = at + 1;
  is_between_runs_ = device_->is_end(at);
  if (is_between_runs_) {
    read_batch(at);
    device_->get({.theta = theta_, .average = average_, .mean = {}, .square = {}});
    device_->forget();
  }
  return {};
}

void RegressorMember::use(std::span<const float> parameters) {
  parameters_.scatter(parameters);
  networks_.parameters_changed();
}

// Without rows to check on, a few of the last step say whether the parameters can be used at all; their
// densities also where A is taken as 0.
Check RegressorMember::check(Progress& progress) {
  use(average_);
  problem_.set_unseen(train_rows_, networks_);
  const auto few = std::span<const uint64_t>(chosen_).first(std::min(kFewMemberRows, chosen_.size()));
  Check out;
  try {
    const double nll =
        held_out_nll(problem_, networks_, valid_rows_.empty() ? few : valid_rows_, is_tilted(taken_));
    // A held-out target may have no density: +inf.
    out.is_usable = std::isfinite(nll) || (nll > 0 && !valid_rows_.empty());
    if (!is_tilted(taken_)) require_usable(few);
    if (!valid_rows_.empty()) progress.valid_nll = out.criterion = nll;
  } catch (const Error&) {  // scores that are not finite
    out.is_usable = false;
  }
  use(theta_);
  return out;
}

// Throws Error when p(y|x) of one of the rows cannot be integrated.
void RegressorMember::require_usable(std::span<const uint64_t> rows) const {
  const uint32_t d = problem_.model().dimension();
  for (uint64_t begin = 0; begin < rows.size(); begin += rows_at_once(d)) {
    const EncodedFrame x =
        problem_.inputs().take(rows.subspan(begin, std::min(rows_at_once(d), rows.size() - begin)));
    conditional_quadrature(*prepare_scores(problem_.model(), networks_, x.view()),
                           {.precision = kCheckPrecision[d - 1]});
  }
}

void RegressorMember::measure(Progress& progress) {
  progress.loss = loss_.report();
  progress.gradient_norm = adam_.norm();
  if (device_ && taken_ > 0 && is_tilted(taken_ - 1) && tilt_step_->uses_normalizer())
    progress.log_normalizer = device_b_;
  if (taken_ > 0 && is_tilted(taken_ - 1) && tilt_step_->uses_normalizer() && !pass_.normalizer().empty()) {
    double sum = 0;
    for (const double b : pass_.normalizer()) sum += b;
    progress.log_normalizer = sum / static_cast<double>(pass_.normalizer().size());
  }
  if (terms_.has_estimate) {
    progress.log_ratio = terms_.log_ratio;
    progress.effective_samples = terms_.effective_samples;
  }
}

void RegressorMember::state(CheckpointFields& fields, uint64_t steps_taken) {
  if (device_ && !fields.reads()) {
    AdaptiveState<float>& adam = adam_.optimiser().state();
    device_->get({.theta = theta_, .average = average_, .mean = adam.mean, .square = adam.square});
    adam.step = taken_;
  }
  fields("theta", theta_);
  fields("average", average_);
  loss_.state(fields);
  adam_.state(fields);
  if (!fields.reads()) return;
  taken_ = steps_taken;
  use(theta_);
  if (taken_ > 0) read_batch(taken_ - 1);  // of the last step, which may have been the last of all
  if (device_) put_on_device();
}

RegressorMember::Result RegressorMember::finish(const RunOutcome& outcome) {
  Result out{.diverged = outcome.ending == Ending::diverged,
             .check = outcome.best,
             .kept = outcome.kept.value_or(outcome.steps)};
  try {
    settle_result(!out.diverged && outcome.best, is_tilted(out.kept), out.check);
  } catch (const Error&) {  // scores that are not finite
    average_ = FlatParameters(problem_.make_networks(options_.seed, train_rows_).parameters()).gather();
    out.diverged = true;
    out.check.reset();
    out.kept = 0;
    networks_.temperature = 1;
    settle_result(false, is_tilted(0), out.check);
  }
  out.is_mixture_alone = tilt_step_ != nullptr && !is_tilted(out.kept);
  out.networks = networks_.copy();
  return out;
}

void RegressorMember::settle_result(bool is_checked, bool is_tilted, std::optional<double>& check) {
  use(average_);
  problem_.set_unseen(train_rows_, networks_);
  if (!is_checked) {  // only a few rows may have been checked
    const uint64_t most = kMostCheckRows[problem_.model().dimension() - 1];
    require_usable(
        std::span<const uint64_t>(train_rows_).first(std::min<uint64_t>(most, train_rows_.size())));
  } else if (options_.ensemble == 1 && can_be_tempered(options_)) {
    const FittedTemperature found =
        fit_temperature(effective_rows(problem_, valid_rows_), [&](double temperature) {
          networks_.temperature = temperature;
          return held_out_nll(problem_, networks_, valid_rows_, is_tilted);
        });
    networks_.temperature = found.temperature;
    if (found.temperature != 1) check = found.nll;
  }
  if (networks_.normalizer && is_tilted && (options_.calibrate || !tilt_step_->uses_normalizer()))
    fit_normalizer(problem_, {train_rows_, options_.ensemble > 1 ? valid_rows_ : std::vector<uint64_t>()},
                   options_.seed, networks_);
  if (networks_.normalizer && !is_tilted) {  // f = 0, so A = 0
    std::fill(networks_.normalizer->parameters().begin(), networks_.normalizer->parameters().end(), 0.0f);
    networks_.normalizer->parameters_changed();
  }
}

}  // namespace selfnorm
