#include "family/density/train/autoregressive_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/failure.h"
#include "family/density/train/density_normalizer.h"
#include "gpu/device.h"
#include "math/random.h"
#include "math/vector.h"
#include "normalizer/quadrature/conditional_quadrature.h"
#include "objective/registry.h"
#include "proposal/density/gaussian_terms.h"

namespace selfnorm {
namespace {

constexpr uint64_t kOrderStream = 0x0DE6, kLineStream = 0x11E5, kCheckStream = 0xC4ED;
constexpr uint64_t kLineReports = 100, kLineChecks = 20;  // in a run
constexpr uint64_t kMostCheckRows = 1000;
constexpr uint64_t kCheckGrowth = 2;      // checks are at 1 + 1/kCheckGrowth times the last, until then
constexpr double kCheckPrecision = 1e-3;  // of A_i
constexpr uint64_t kWarmEpochs = 5;       // at most, and
constexpr double kWarmUp = 0.05;          // share of the steps in which the mixtures are trained alone
constexpr double kAverage = 0.998;        // decay of the moving average
constexpr double kDefence = 0.1;          // weight of the broad component in what draws are from
constexpr uint64_t kRamp =
    100;  // steps in which the rate rises, of q at first and of f and b when these begin
constexpr size_t kContextPart = 2, kTiltPart = 3, kNormalizerPart = 4;

std::vector<uint64_t> first_of(std::span<const uint64_t> rows, uint64_t most, uint64_t seed) {
  std::vector<uint64_t> out(rows.begin(), rows.end());
  if (out.size() > most) {
    RandomStream(seed, kCheckStream).shuffle(out);
    out.resize(most);
  }
  return out;
}

}  // namespace

AutoregressiveTraining::AutoregressiveTraining(const DensityProblem& problem, AutoregressiveEnergy& energy,
                                               const DensityOptions& options,
                                               std::span<const uint64_t> train_rows,
                                               std::span<const uint64_t> valid_rows, TrainObserver& observer)
    : problem_(problem),
      options_(options),
      observer_(observer),
      energy_(energy),
      train_rows_(train_rows),
      minibatches_(train_rows.size(), options_.batch, RandomStream(options_.seed, kOrderStream).next(),
                   Minibatches::Rest::is_left_out),
      adam_(std::as_const(energy_).parameters().size(), options_.clip, options_.weight_decay),
      objective_(make_candidate_objective(options_.objective)),
      gradient_parts_(energy_.blocks().parts(adam_.gradient)),
      warm_steps_(std::min(static_cast<uint64_t>(kWarmUp * static_cast<double>(options_.steps)),
                           kWarmEpochs * minibatches_.per_epoch())),
      each_(std::max<uint64_t>(1, options_.samples / minibatches_.size())) {
  std::vector<float> rows;
  problem_.read(train_rows, rows);
  energy_.start_at({rows.data(), train_rows.size(), energy_.dimension()});
  theta_.assign(energy_.parameters().begin(), energy_.parameters().end());
  average_ = best_ = theta_;
  least_.assign(energy_.dimension(), INFINITY);
  idle_.assign(energy_.dimension(), 0);
  problem_.read(first_of(valid_rows.empty() ? train_rows : valid_rows, kMostCheckRows, options_.seed),
                checked_);
  passes_.reserve(energy_.dimension());
  for (uint32_t i = 0; i < energy_.dimension(); ++i) {
    passes_.emplace_back(energy_.networks(i));
    tilts_.push_back(energy_.networks(i).tilt->make_pass());
  }
  plan_.steps = options_.steps;
  plan_.epoch = minibatches_.per_epoch();
  plan_.schedule = options_.schedule;
  plan_.report_every = std::max<uint64_t>(1, plan_.steps / kLineReports);
  plan_.check_every = std::max<uint64_t>(1, plan_.steps / kLineChecks);
  plan_.checks = true;
  plan_.keeps_best = !valid_rows.empty();
  plan_.patience = options_.patience;
  for (uint64_t at = 0; at < plan_.steps; check_steps_.push_back(std::min(at, plan_.steps)))
    at += std::min(plan_.check_every, std::max(plan_.epoch, at / kCheckGrowth));
}

// What a column was at its start stays the best there is until it is better than that.
Step AutoregressiveTraining::begin() {
  for (uint32_t i = 0; i < energy_.dimension(); ++i) least_[i] = checked_nll(i);
  return {};
}

Due AutoregressiveTraining::due(uint64_t steps_taken) const {
  if (steps_taken == 0) return {};
  const bool is_check = std::ranges::binary_search(check_steps_, steps_taken);
  return {.report = is_check || steps_taken % plan_.report_every == 0, .check = is_check};
}

void AutoregressiveTraining::read(uint64_t at) {
  const std::span<const uint64_t> chosen = minibatches_.of(at);
  rows_.resize(chosen.size());
  for (size_t i = 0; i < chosen.size(); ++i) rows_[i] = train_rows_[chosen[i]];
  problem_.read(rows_, points_);
}

Step AutoregressiveTraining::gradient(uint64_t at) {
  read(at);
  std::fill(adam_.gradient.begin(), adam_.gradient.end(), 0.0f);
  terms_ = {};
  for (uint32_t i = 0; i < energy_.dimension(); ++i) {
    if (is_done(i)) continue;
    const double before = terms_.loss;
    column_gradient(i, at);
    const std::span<float> own = energy_.of_column(i, std::span(adam_.gradient));
    if (std::isfinite(terms_.loss) && std::isfinite(inner_product<float>(own, own))) continue;
    terms_.loss = before;
    std::ranges::fill(own, 0.0f);
    idle_[i] = INFINITY;
    observer_.on_warning(
        fmt::format("the loss of column {} became infinite or NaN at step {}: it is trained no further, and "
                    "what is kept of it is its best on {} rows before that, or its start",
                    i, at, plan_.keeps_best ? "held-out" : "training"));
  }
  if (std::ranges::all_of(idle_, [](double checks) { return std::isinf(checks); })) return Step::diverged();
  return adam_.is_finite(terms_.loss) ? Step{} : Step::diverged();
}

// The rows and, once f is trained, their draws, row after row.
void AutoregressiveTraining::column_gradient(uint32_t column, uint64_t at) {
  const uint64_t n = rows_.size();
  const uint32_t d = energy_.dimension(), width = energy_.inputs(column);
  const bool is_tilted = this->is_tilted(at);
  const uint64_t seed = RandomStream(RandomStream(options_.seed, kLineStream + at).next(), column).next();
  seen_ = energy_.seen(column, {points_.data(), n, d});
  RegressorNetworksPass& pass = passes_[column];
  pass.forward({{seen_.data(), n, width}, nullptr, 0}, is_tilted);

  const ConditionalMixture mixture = energy_.mixture(column);
  const double tail = energy_.shape().tail_weight, share = 1 / static_cast<double>(n);
  const uint64_t points = is_tilted ? 1 + each_ : 1;
  y_.resize(n * points);
  row_.resize(n * points);
  if (is_tilted) {
    drawn_.resize(n * each_);
    mixture.sample(pass.mixture(), each_, kDefence, seed, drawn_);
  }
  for (uint64_t i = 0; i < n; ++i) {
    y_[i * points] = points_[i * d + column];
    if (is_tilted) std::copy_n(drawn_.data() + i * each_, each_, y_.data() + i * points + 1);
    std::fill_n(row_.data() + i * points, points, static_cast<uint32_t>(i));
  }
  const MixturePoints places{pass.mixture(), {y_.data(), y_.size(), 1}, row_};
  log_q_.resize(y_.size());
  log_g_.resize(y_.size());
  mixture.log_prob(places, log_q_, log_g_);
  score_ = log_q_;
  broaden(score_, log_g_, tail);
  d_score_.assign(y_.size(), -share);
  const size_t first = AutoregressiveEnergy::kParts * column;
  if (is_tilted) {
    broaden(log_q_, log_g_, kDefence);
    const std::span<const double> f =
        tilts_[column]->forward({pass.context(), {y_.data(), y_.size(), 1}, row_});
    for (size_t i = 0; i < f.size(); ++i) score_[i] += f[i];
    compare(column);
    tilts_[column]->backward(d_score_, gradient_parts_[first + kTiltPart], pass.d_context());
    for (uint64_t i = 0; i < n; ++i) d_score_[i * points] -= share;  // the likelihood of q
  } else {
    for (const double s : score_) terms_.loss -= share * s;
  }
  mixture.add_gradient(places, tail, d_score_, pass.d_mixture());
  pass.backward(
      {gradient_parts_.begin() + static_cast<std::ptrdiff_t>(first),
       gradient_parts_.begin() + static_cast<std::ptrdiff_t>(first + AutoregressiveEnergy::kParts)});
}

// The objective of every row, and its derivatives over n.
void AutoregressiveTraining::compare(uint32_t column) {
  const uint64_t n = rows_.size(), points = 1 + each_;
  const double share = 1 / static_cast<double>(n), mean = share / energy_.dimension();
  RegressorNetworksPass& pass = passes_[column];
  for (uint64_t i = 0; i < n; ++i) {
    const auto own = [&](std::vector<double>& v) { return std::span(v).subspan(i * points, points); };
    const CandidateTerms terms = (*objective_)({.score = own(score_)[0],
                                                .log_q = own(log_q_)[0],
                                                .sample_score = own(score_).subspan(1),
                                                .sample_log_q = own(log_q_).subspan(1),
                                                .log_normalizer = pass.normalizer()[i]},
                                               own(d_score_).subspan(1));
    own(d_score_)[0] = terms.d_score;
    for (double& d : own(d_score_)) d *= share;
    pass.d_normalizer()[i] += share * terms.d_log_normalizer;
    terms_.loss += share * terms.likelihood;
    if (!terms.estimate) continue;
    terms_.log_ratio += mean * (terms.estimate->log_z - pass.normalizer()[i]);
    terms_.effective += mean * terms.estimate->effective;
  }
}

Step AutoregressiveTraining::move(uint64_t at, double factor) {
  const double rate = options_.learning_rate * factor;
  const auto ramp = [at](uint64_t since) {
    return at < since ? 0
                      : std::min(1.0, static_cast<double>(at - since + 1) / static_cast<double>(kRamp + 1));
  };
  adam_.begin(theta_, rate);
  for (size_t i = 0; i < gradient_parts_.size(); ++i) {
    const size_t part = i % AutoregressiveEnergy::kParts;
    if (is_done(static_cast<uint32_t>(i / AutoregressiveEnergy::kParts))) continue;
    adam_.move(theta_, energy_.blocks().offset(i), gradient_parts_[i].size(),
               rate * ramp(part < kContextPart ? 0 : warm_steps_) *
                   (part == kNormalizerPart ? options_.normalizer_rate : 1));
  }
  use(theta_);
  move_average(theta_, at, kAverage, average_);
  loss_.add(terms_.loss);
  taken_ = at + 1;
  return {};
}

void AutoregressiveTraining::use(std::span<const float> parameters) {
  std::ranges::copy(parameters, energy_.parameters().begin());
  energy_.parameters_changed();
}

void AutoregressiveTraining::measure(Progress& progress) {
  progress.loss = loss_.report();
  progress.gradient_norm = adam_.norm();
  if (taken_ == 0 || !is_tilted(taken_ - 1)) return;
  progress.log_ratio = terms_.log_ratio;
  progress.effective_samples = terms_.effective;
}

// Of x_i given x_<i, standardised. Until f is trained it is 0, and so is A_i.
double AutoregressiveTraining::column_nll(uint32_t column, const Points& rows) const {
  const auto scores = energy_.line(column, rows);
  std::vector<float> y(rows.rows);
  std::vector<uint32_t> row(rows.rows);
  std::vector<double> s(rows.rows);
  for (uint64_t r = 0; r < rows.rows; ++r) {
    y[r] = rows.row(r)[column];
    row[r] = static_cast<uint32_t>(r);
  }
  scores->score({y.data(), rows.rows, 1}, row, s);
  double sum = 0;
  if (taken_ > warm_steps_)
    for (const ConditionalLogZ& a : conditional_log_z(*scores, {.precision = kCheckPrecision}))
      sum += a.value;
  for (const double v : s) sum -= v;
  return sum / static_cast<double>(rows.rows);
}

double AutoregressiveTraining::checked_nll(uint32_t column) const {
  try {
    return column_nll(column, {checked_.data(), checked_.size() / energy_.dimension(), energy_.dimension()});
  } catch (const Error&) {  // scores that are not finite
    return INFINITY;
  }
}

Check AutoregressiveTraining::check(Progress& progress) {
  use(average_);
  double sum = problem_.standardisation().log_volume();
  for (uint32_t i = 0; i < energy_.dimension(); ++i) {
    const double nll = is_done(i) ? INFINITY : checked_nll(i);
    const bool is_kept = nll < least_[i];
    if (is_kept) {
      const std::span<const float> own = energy_.of_column(i, std::span<const float>(average_));
      std::ranges::copy(own, energy_.of_column(i, std::span(best_)).begin());
    }
    if (plan_.keeps_best) {
      if (is_kept)
        idle_[i] = 0;
      else if (taken_ > 2 * kRamp)
        idle_[i] += 1;  // rates have risen
      if (is_kept) least_[i] = nll;
    }
    sum += least_[i];
  }
  use(theta_);
  if (!std::isfinite(sum)) return {.is_usable = false};
  if (plan_.keeps_best) progress.valid_nll = sum;
  return {.criterion = sum};
}

double AutoregressiveTraining::nll(const Points& rows) const {
  double sum = problem_.standardisation().log_volume();
  for (uint32_t i = 0; i < energy_.dimension(); ++i) sum += column_nll(i, rows);
  return sum;
}

std::string AutoregressiveTraining::remedy() const {
  return "a smaller `learning-rate`, more `samples`, or a larger `batch`";
}

void AutoregressiveTraining::state(CheckpointFields& fields, uint64_t steps_taken) {
  fields("theta", theta_);
  fields("average", average_);
  fields("columns.best", best_);
  fields("columns.least", least_);
  fields("columns.idle", idle_);
  loss_.state(fields);
  adam_.state(fields);
  if (!fields.reads()) return;
  taken_ = steps_taken;
  use(theta_);
  if (taken_ > 0) read(taken_ - 1);  // of the last step, which may have been the last of all
}

namespace {

constexpr uint32_t kLeastRacing = 8, kMostRacing = 64;  // columns
constexpr uint64_t kLeastTrained = 1000, kLeastHeldOut = 100;

// The autoregressive energy first, whose parameters and held-out likelihood are kept, then the other.
class LineRace final : public Members {
 public:
  LineRace(const DensityProblem& problem, const DensityOptions& options, Problem& other,
           std::span<const uint64_t> train_rows, std::span<const uint64_t> valid_rows,
           TrainObserver& observer)
      : problem_(problem),
        other_(other),
        valid_rows_(validation_rows(options, valid_rows)),
        energy_(std::make_unique<AutoregressiveEnergy>(
            AutoregressiveEnergy::Shape{.dimension = problem.energy().dimension()}, options.seed)),
        lines_(problem, *energy_, options, train_rows, valid_rows, observer),
        theta_(energy_->parameters().begin(), energy_->parameters().end()) {}

  uint64_t count() const override { return 2; }
  Problem& make(uint64_t i) override { return i == 0 ? lines_ : other_; }
  void finish(uint64_t i, const RunOutcome& outcome) override {
    if (i > 0) return;
    lines_.finish();
    lost_ = lines_.lost();
    theta_.assign(energy_->parameters().begin(), energy_->parameters().end());
    std::vector<float> rows;
    problem_.read(valid_rows_, rows);
    try {
      nll_ = outcome.ending == Ending::diverged
                 ? INFINITY
                 : lines_.nll({rows.data(), valid_rows_.size(), energy_->dimension()});
    } catch (const Error&) {  // scores that are not finite
    }
  }
  void state(CheckpointFields& fields, uint64_t finished) override {
    if (finished == 0) return;
    fields("lines.theta", theta_);
    fields("lines.nll", nll_);
    fields("lines.lost", lost_);
    if (!fields.reads()) return;
    std::ranges::copy(theta_, energy_->parameters().begin());
    energy_->parameters_changed();
  }

  double nll() const { return nll_; }
  uint64_t lost() const { return lost_; }
  std::unique_ptr<AutoregressiveEnergy> release() { return std::move(energy_); }

 private:
  const DensityProblem& problem_;
  Problem& other_;
  std::vector<uint64_t> valid_rows_;
  std::unique_ptr<AutoregressiveEnergy> energy_;
  AutoregressiveTraining lines_;
  std::vector<float> theta_;
  double nll_ = INFINITY;
  uint64_t lost_ = 0;  // columns
};

}  // namespace

bool can_race_lines(const DensityOptions& options, uint32_t columns) {
  return options.energy == "auto" && options.objective == "snl" && options.proposal == "auto" &&
         options.base == "auto" && options.lower.empty() && columns >= kLeastRacing && columns <= kMostRacing;
}

bool races_lines(const DensityOptions& options, const DensityProblem& problem, uint64_t rows,
                 uint64_t held_out) {
  return can_race_lines(options, problem.energy().dimension()) && problem.space().is_real() &&
         problem.space().wraps.empty() && !problem.has_intervals() && rows >= kLeastTrained &&
         held_out >= kLeastHeldOut;
}

DensityResult race_lines(Problem& other, DensityProblem& problem, const DensityOptions& given,
                         const std::function<DensityResult(RunOutcome)>& result, const RaceRun& run_of,
                         TrainObserver& observer) {
  DensityOptions options = given;
  options.energy = "autoregressive";
  options = resolved_steps(options);
  observer.on_note("training an autoregressive energy, and then one of all columns together");
  LineRace race(problem, options, other, run_of.train_rows, run_of.valid_rows, observer);
  RunOutcome outcome = run(race, run_of.checkpoint, run_of.mark, observer);
  if (outcome.ending == Ending::interrupted) return result(std::move(outcome));
  const double nll = outcome.best.value_or(INFINITY);
  const std::string text = fmt::format(
      "NLL on held-out rows of an autoregressive energy {:.4f}, of one of all columns together {:.4f}",
      race.nll(), nll);
  if (!(race.nll() < nll)) {
    DensityResult out = result(std::move(outcome));
    out.choice += "; " + text;
    return out;
  }
  DensityResult out;
  out.choice = problem.choice() + "; " + text + ": the model is the autoregressive one";
  out.model = problem.release();
  out.model.energy = race.release();
  out.model.base = nullptr;
  out.model.normalizer_kind = "learned";
  record_training(options, "the autoregressive energy was better on held-out rows", run_of.train_rows.size(),
                  outcome.last, out.model);
  out.take(std::move(outcome));
  out.diverged = race.lost() > 0;
  return out;
}

DensityResult train_autoregressive(const PointSource& data, std::span<const uint64_t> train_rows,
                                   std::span<const uint64_t> valid_rows, const DensityOptions& options,
                                   const CheckpointOptions& checkpoint, TrainObserver& observer) {
  refuse_device("a GPU takes no steps of autoregressive energies");
  DensityProblem problem(data, train_rows, valid_rows, options,
                         [&observer](const std::string& text) { observer.on_note(text); });
  auto* energy = dynamic_cast<AutoregressiveEnergy*>(&problem.energy());
  SELFNORM_CHECK(energy != nullptr);
  if (!checkpoint.resume)
    for (const std::string& text : problem.warnings()) observer.on_warning(text);
  AutoregressiveTraining training(problem, *energy, problem.options(), train_rows, valid_rows, observer);
  RunOutcome outcome =
      run(training, checkpoint, density_fingerprint(data, train_rows, valid_rows, options), observer);
  DensityResult out;
  if (outcome.ending != Ending::interrupted) {
    training.finish();
    if (const uint64_t lost = training.lost(); lost > 0 && outcome.ending == Ending::complete) {
      outcome.ending = Ending::diverged;
      outcome.reason =
          fmt::format("the loss of {} of {} columns became infinite or NaN, and {}; try {}", lost,
                      energy->dimension(), outcome.reason, with_options(training.remedy()));
    }
    if (outcome.best && *outcome.kept < outcome.steps)
      outcome.reason += fmt::format(" (kept: the best of every column on held-out rows, the last at step {})",
                                    *outcome.kept);
    out.choice = problem.choice();
    const DensityOptions resolved = problem.options();
    out.model = problem.release();
    out.model.normalizer_kind = "learned";
    record_training(resolved, outcome.reason, train_rows.size(), outcome.last, out.model);
  }
  out.take(std::move(outcome));
  return out;
}

}  // namespace selfnorm
