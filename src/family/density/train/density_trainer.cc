// Adam on the energy, and on b with a rate of its own (theory.md 3, "what makes SNL work in practice"): b
// starts at an importance estimate of log Z, moves alone at first, and is estimated anew when log r drifts;
// the gradient is clipped, and steps follow the effective draws; a step that is not finite ends the run at
// the last good energy, as does "is" when its draws are lost (density_normalizer.h).
#include "family/density/train/density_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/failure.h"
#include "engine/checkpoint.h"
#include "engine/clipped_adam.h"
#include "engine/engine.h"
#include "engine/minibatches.h"
#include "family/density/train/autoregressive_training.h"
#include "family/density/train/density_normalizer.h"
#include "family/density/train/density_options.h"
#include "family/density/train/density_problem.h"
#include "family/density/train/density_step.h"
#include "family/density/train/device_density.h"
#include "gpu/device.h"
#include "math/parallel.h"
#include "objective/registry.h"

namespace selfnorm {
namespace {

DensityResult fit_proposal_alone(const PointSource& data, std::span<const uint64_t> train_rows,
                                 std::span<const uint64_t> valid_rows, const DensityOptions& options,
                                 TrainObserver& observer) {
  DensityProblem problem(data, train_rows, valid_rows, options,
                         [&observer](const std::string& text) { observer.on_note(text); });
  for (const std::string& text : problem.warnings()) observer.on_warning(text);
  DensityResult out;
  out.reason = fmt::format("fitted {}", problem.options().proposal);
  out.optimiser.clear();
  out.choice = problem.choice();
  out.model = problem.release();
  out.model.normalizer_kind = "exact";
  record_training(problem.options(), out.reason, train_rows.size(), {}, out.model);
  return out;
}

uint64_t first_interval(const PointSource& data) {
  uint64_t row = 0;
  while (row < data.rows() && data.intervals(row).empty()) ++row;
  return data.number(std::min(row, data.rows() - 1));
}

[[noreturn]] void fail_without_mass(const PointSource& data, uint64_t row) {
  std::string known;
  for (const IntervalCell& cell : data.intervals(row))
    known += fmt::format(
        "{}{}..{} in column {}", known.empty() ? "" : ", ", cell.low, cell.high,
        data.names().empty() ? std::to_string(cell.column) : "'" + data.names()[cell.column] + "'");
  throw_error(
      "row {} (from 0) has the interval {}, where the proposal has no mass: leave the row out, or take a "
      "proposal that reaches there (`proposal mixture:8`)",
      data.number(row), known);
}

constexpr uint64_t kRememberEvery = 20;  // steps
constexpr uint64_t kDriftsShown = 3, kMostDrifts = 20;
constexpr uint64_t kReports = 100, kChecks = 20;  // in a run
constexpr uint64_t kFinalSamples = 200'000;       // for b at the end
constexpr uint64_t kFinalStream = 0xE570, kSeenStream = 0x5EE4, kDensityOrderStream = 0x0DE5,
                   kIntervalStream = 0x17E5;
constexpr const char* kRemedy =
    "a smaller `learning-rate`, more `samples`, a proposal that covers the data (`proposal mixture:32`), or "
    "`base proposal`";

class DensityTraining final : public Problem {
 public:
  DensityTraining(const PointSource& data, std::span<const uint64_t> train_rows,
                  std::span<const uint64_t> valid_rows, const DensityOptions& options,
                  TrainObserver& observer)
      : train_rows_(train_rows),
        problem_(data, train_rows, valid_rows, options,
                 [&observer](const std::string& text) { observer.on_note(text); }),
        options_(problem_.options()),
        observer_(observer),
        step_(make_density_step(problem_)),
        validation_(problem_, valid_rows),
        intervals_(problem_.interval_store(train_rows, RandomStream(options_.seed, kIntervalStream).next())),
        minibatches_(train_rows.size(), options_.batch,
                     RandomStream(options_.seed, kDensityOrderStream).next(), Minibatches::Rest::is_left_out),
        adam_(problem_.energy().parameters().size(), options_.clip, options_.weight_decay),
        b_(problem_, step_->uses_normalizer()) {
    // b alone moves first.
    plan_.warm_steps = b_.is_learned() ? options_.normalizer_steps : 0;
    plan_.steps = plan_.warm_steps + options_.steps;
    plan_.epoch = minibatches_.per_epoch();
    plan_.schedule = options_.schedule;
    plan_.report_every = std::max<uint64_t>(1, plan_.steps / kReports);
    plan_.check_every = plan_.good_every = std::max<uint64_t>(1, plan_.steps / kChecks);
    plan_.checks = plan_.keeps_best = validation_.present();
    plan_.patience = options_.patience;
    if (!intervals_.lost().empty()) fail_without_mass(data, *intervals_.lost().begin());
    if (data.has_intervals())
      refuse_device("a GPU takes no rows with intervals");
    else
      open_device();
  }

  const Plan& plan() const override { return plan_; }

  Step begin() override {
    for (const std::string& text : problem_.warnings()) observer_.on_warning(text);
    if (validation_.outside() > 0)
      observer_.on_warning(
          fmt::format("{} validation rows are outside the support that the training rows have; they are left "
                      "out of the checks",
                      validation_.outside()));
    b_.estimate(0);
    if (device_) push_state();
    return {};
  }

  Step gradient(uint64_t at) override {
    if (device_) return device_gradient(at);
    read(at);
    std::fill(adam_.gradient.begin(), adam_.gradient.end(), 0.0f);
    const bool is_warm = at < plan_.warm_steps;
    terms_ = (*step_)(points(), at, b_.value(), is_warm ? std::span<float>() : std::span(adam_.gradient));
    if (!adam_.is_finite(terms_.loss)) return Step::diverged();
    next_seen_ = seen_;
    if (needs_draws()) next_seen_.add(terms_.estimate->effective);
    if (!next_seen_.is_lost()) return {};
    return Step::diverged(fmt::format("the {} draws of a step were worth {:.1f}, too few to see log Z,",
                                      options_.samples, next_seen_.mean()));
  }

  // Unless b had to be estimated anew since the last time; and, without rows to check on, where more draws
  // than those of a step see log Z, which few may miss by chance.
  bool is_good() override {
    if (taken_ > 0 && needs_draws() && !validation_.present() &&
        importance_log_z(problem_.energy(), problem_.proposal(), DensityValidation::kSamples,
                         RandomStream(options_.seed, kSeenStream).next())
                .effective < DensityValidation::kLeastEffective)
      return false;
    return std::exchange(good_drifts_, drifts_) == drifts_;
  }

  Step move(uint64_t at, double factor) override {
    if (device_) return device_move(at);
    seen_ = next_seen_;
    double rate = options_.learning_rate * factor;
    if (terms_.estimate && step_->uses_normalizer() && problem_.cancelled_tilt() != nullptr &&
        at >= plan_.warm_steps) {
      rate *= guard_.factor(terms_.estimate->effective / static_cast<double>(options_.samples));
      if (guard_.is_healthy() && at % kRememberEvery == 0) guard_.remember(problem_.energy().parameters());
      if (guard_.is_lost()) {
        go_back(at);
        if (guard_.is_spent())
          return Step::finished("the draws of the proposal cannot follow the energy further");
        taken_ = at + 1;
        return {};
      }
    }
    if (terms_.estimate) watch_ratio(terms_.estimate->log_z - b_.value(), at);
    if (drifts_ > kMostDrifts) return Step::diverged(fmt::format("b was lost {} times, last", drifts_));
    if (at >= plan_.warm_steps) {
      const std::span<float> theta = problem_.energy().parameters();
      adam_.begin(theta, rate);
      adam_.move(theta, 0, theta.size(), rate);
      problem_.energy().parameters_changed();
      step_->update(rate);
    }
    b_.move(terms_.d_log_normalizer, options_.normalizer_rate * rate);
    loss_.add(terms_.loss);
    taken_ = at + 1;
    return {};
  }

  bool is_unmoved(bool in_move) const override { return !in_move && !step_->has_memory(); }
  bool is_between_runs() const override { return !device_ || is_between_runs_; }

  Due due(uint64_t steps_taken) const override {
    Due due = Problem::due(steps_taken);
    if (steps_taken == 0)
      due.check = plan_.checks && options_.base == "proposal";  // the start may stay the best
    if (steps_taken > 0 && steps_taken <= plan_.warm_steps) due.check = false;
    return due;
  }

  void measure(Progress& progress) override {
    progress.loss = loss_.report();
    progress.gradient_norm = adam_.norm();
    if (step_->uses_normalizer()) progress.log_normalizer = b_.value();
    if (!terms_.estimate) return;
    progress.log_ratio = terms_.estimate->log_z - b_.value();
    progress.effective_samples = terms_.estimate->effective;
    double sum = 0;
    for (const double s : scores()) sum += s;
    progress.nll_estimate = terms_.estimate->log_z - sum / static_cast<double>(minibatches_.size()) +
                            problem_.standardisation().log_volume();
  }

  Check check(Progress& progress) override {
    progress.valid_nll_estimate =
        device_ ? validation_.check([this](const Points& x, std::span<double> s) { device_->score(x, s); })
                : validation_.check();
    return {progress.valid_nll_estimate};
  }

  bool is_usable() override {
    const std::vector<double> score = scores();
    return std::all_of(score.begin(), score.end(), [](double s) { return std::isfinite(s); });
  }
  std::string remedy() const override { return kRemedy; }

  void take(Snapshot& out) const override {
    const std::span<const float> theta = problem_.energy().parameters();
    out.floats.assign(theta.begin(), theta.end());
    out.numbers = {b_.value()};
  }
  void put(const Snapshot& snapshot) override {
    std::copy(snapshot.floats.begin(), snapshot.floats.end(), problem_.energy().parameters().begin());
    problem_.energy().parameters_changed();
    b_.set(snapshot.numbers[0]);
  }

  void state(CheckpointFields& fields, uint64_t steps_taken) override {
    if (device_ && !fields.reads()) pull_state();
    const std::span<float> theta = problem_.energy().parameters();
    stored_theta_.assign(theta.begin(), theta.end());
    fields("theta", stored_theta_);
    fields("drifts", drifts_);
    fields("good.drifts", good_drifts_);
    loss_.state(fields);
    seen_.state(fields);
    guard_.state(fields);
    adam_.state(fields);
    b_.state(fields);
    step_->state(fields);
    if (!fields.reads()) return;
    std::copy(stored_theta_.begin(), stored_theta_.end(), theta.begin());
    problem_.energy().parameters_changed();
    taken_ = steps_taken;
    if (taken_ > 0) read(taken_ - 1);  // of the last step, which may have been the last of all
    if (device_) push_state();
  }

  DensityProblem& problem() { return problem_; }
  // What tells the bits of a GPU from those of others, in the mark of a checkpoint.
  std::string device_mark() const { return device_ ? " on " + device_->name() : ""; }

  DensityResult result(RunOutcome outcome) {
    DensityResult out;
    if (outcome.ending != Ending::interrupted) {
      if (outcome.best && *outcome.kept < outcome.steps)
        outcome.reason += fmt::format(" (kept: step {}, the best on held-out rows)", *outcome.kept);
      out.learned_normalizer = b_.value();
      out.choice = problem_.choice();
      std::string kind = step_->uses_normalizer() ? options_.normalizer : "estimated";
      if (options_.normalizer != "zero" && (options_.calibrate || !step_->uses_normalizer())) calibrate(kind);
      out.model = problem_.release();
      out.model.log_normalizer = b_.value();
      out.model.normalizer_kind = kind;
      record_training(options_, outcome.reason, train_rows_.size(), outcome.last, out.model);
      if (device_) note_device(device_->name(), out.model);
    }
    out.take(std::move(outcome));
    return out;
  }

 private:
  bool needs_draws() const {
    return objective_entry(options_.objective).uses_estimate && !step_->uses_normalizer();
  }

  void read(uint64_t step) {
    const std::span<const uint64_t> chosen = minibatches_.of(step);
    rows_.resize(chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) rows_[i] = train_rows_[chosen[i]];
    problem_.read(rows_, points_);
    intervals_.complete(rows_, step, problem_.tilt_scores(), points_);
  }
  Points points() const {
    return {points_.data(), rows_.size(), problem_.energy().dimension()};
  }  // of the last read
  std::vector<double> scores() const {
    std::vector<double> score(rows_.size());
    problem_.energy().score(points(), score);
    return score;
  }

  // A warning for the first drifts; a run that drifts on and on is lost.
  void watch_ratio(double log_ratio, uint64_t at) {
    if (const auto mean = b_.watch(log_ratio, at)) drifted(*mean, at);
  }
  void drifted(double mean, uint64_t at) {
    if (++drifts_ <= kDriftsShown)
      observer_.on_warning(fmt::format("log r drifted to {:.2f} at step {}: b was estimated anew", mean, at));
  }

  void go_back(uint64_t at) {
    const std::span<float> theta = problem_.energy().parameters();
    if (!guard_.go_back(theta)) return;
    problem_.energy().parameters_changed();
    adam_ = ClippedAdam(theta.size(), options_.clip, options_.weight_decay);
    b_.estimate(at);
  }

  void calibrate(std::string& kind) {
    const LogZEstimate z = importance_log_z(problem_.energy(), problem_.proposal(), kFinalSamples,
                                            RandomStream(options_.seed, kFinalStream).next());
    if (z.effective < DensityValidation::kLeastEffective) {
      observer_.on_warning(fmt::format(
          "log Z could not be estimated from the proposal ({:.0f} effective samples of {}): b {}",
          z.effective, kFinalSamples, step_->uses_normalizer() ? "is as trained" : "is not to be trusted"));
      if (step_->uses_normalizer()) return;
    }
    b_.set(z.value);
    kind = z.effective < DensityValidation::kLeastEffective ? "untrusted" : "estimated";
  }

  // On a GPU (device_density.h): what is kept there, the same numbers as here, and the same steps.

  void open_device() {
    const bool cancels = problem_.cancelled_tilt() != nullptr;
    const Schedule schedule{plan_.schedule, plan_.steps - plan_.warm_steps, plan_.epoch};
    device_ = DeviceDensity::on_chosen_device(
        problem_,
        {.objective = objective_entry(options_.objective).device_formula,
         .rows = minibatches_.size(),
         .has_log_q = !cancels,
         .is_learned = b_.is_learned(),
         .is_guarded = cancels,
         .memory = DensityNormalizer::kMemory,
         .healthy = DrawGuard::kHealthy,
         .lost = guard_.lost(),
         .guard_rate = DrawGuard::kRate,
         .remember_every = kRememberEvery,
         .end =
             [this](uint64_t at) {
               const auto next = [at](uint64_t every) { return (at / every + 1) * every; };
               const uint64_t warm = at < plan_.warm_steps ? plan_.warm_steps : plan_.steps;
               return std::min({next(plan_.report_every), next(plan_.check_every), warm, plan_.steps});
             },
         .at =
             [this, schedule](uint64_t at) {
               const bool is_warm = at < plan_.warm_steps;
               return selfnorm_energy_at{
                   .step = static_cast<int64_t>(at),
                   .rate = options_.learning_rate * schedule.factor(is_warm ? 0 : at - plan_.warm_steps),
                   .is_warm = is_warm ? 1 : 0,
                   .is_continued = 0};
             },
         .points =
             [this](uint64_t at, std::span<float> rows, std::span<double> log_q) {
               read(at);
               step_->gather(points(), at, rows, log_q);
             }});
  }

  Step device_gradient(uint64_t at) {
    const selfnorm_energy_record& found = device_->record(at);
    is_between_runs_ = false;
    terms_ = {.loss = found.loss, .d_log_normalizer = 0, .estimate = {}};
    if (objective_entry(options_.objective).uses_estimate)
      terms_.estimate = ImportanceEstimate{.log_z = found.log_z, .effective = found.effective};
    if (at >= plan_.warm_steps) adam_.note_norm(found.norm);
    return found.event == SELFNORM_STEP_DIVERGED ? Step::diverged() : Step{};
  }

  Step device_move(uint64_t at) {
    const selfnorm_energy_record found = device_->record(at);
    const bool is_last = device_->is_end(at);
    if (is_last) read(at);
    if (found.event != SELFNORM_STEP_MOVED) {
      pull_state();
      device_->pull();
    }
    if (found.event == SELFNORM_STEP_LOST) {
      go_back(at);
      push_state();
      if (guard_.is_spent())
        return Step::finished("the draws of the proposal cannot follow the energy further");
    }
    if (found.event == SELFNORM_STEP_DRIFTED) {
      const double mean = b_.mean_ratio();
      b_.estimate(at);
      drifted(mean, at);
      if (drifts_ > kMostDrifts) return Step::diverged(fmt::format("b was lost {} times, last", drifts_));
      push_state();
      device_->continue_from(at, found.rate);
    }
    if (found.event != SELFNORM_STEP_LOST) loss_.add(terms_.loss);
    if (is_last) {
      device_->pull();
      b_.set(device_->state().b);
      device_->forget();
    }
    is_between_runs_ = is_last;
    taken_ = at + 1;
    return {};
  }

  void push_state() {
    const AdaptiveState<float>& adam = adam_.optimiser().state();
    const AdaptiveState<double>& b = b_.optimiser().state();
    const std::vector<float>& remembered = guard_.remembered();
    device_->push();
    device_->put({.mean = adam.mean,
                  .square = adam.square,
                  .remembered = remembered,
                  .state = {.b = b_.value(),
                            .d_b = last_d_b_,
                            .b_mean = b.mean[0],
                            .b_square = b.square[0],
                            .b_steps = static_cast<double>(b.step),
                            .mean_ratio = b_.mean_ratio(),
                            .guard_mean = guard_.mean(),
                            .guard_scale = guard_.scale(),
                            .steps = static_cast<double>(adam.step),
                            .is_remembered = remembered.empty() ? 0 : 1,
                            .is_halted = 0}});
    device_->forget();
  }

  void pull_state() {
    DeviceDensity::Rest rest = device_->rest();
    const selfnorm_energy_state& s = rest.state;
    adam_.optimiser().state() = {static_cast<uint64_t>(s.steps), std::move(rest.square),
                                 std::move(rest.mean)};
    b_.set(s.b);
    b_.mean_ratio() = s.mean_ratio;
    b_.optimiser().state() = {static_cast<uint64_t>(s.b_steps), {s.b_square}, {s.b_mean}};
    guard_.set(s.guard_mean, std::move(rest.remembered));
    last_d_b_ = s.d_b;
  }

  std::span<const uint64_t> train_rows_;
  DensityProblem problem_;
  const DensityOptions& options_;
  TrainObserver& observer_;
  std::unique_ptr<DensityStep> step_;
  DensityValidation validation_;
  IntervalStore intervals_;
  Minibatches minibatches_;
  ClippedAdam adam_;
  DensityNormalizer b_;
  Plan plan_;
  std::vector<uint64_t> rows_;  // of the last minibatch
  std::vector<float> points_;
  DensityStepTerms terms_;
  LossMean loss_;
  SeenDraws seen_{options_.samples}, next_seen_{options_.samples};
  DrawGuard guard_{options_.samples};
  uint64_t taken_ = 0;                     // steps
  uint64_t drifts_ = 0, good_drifts_ = 0;  // times that b was estimated anew: now, and when the last good was
  std::vector<float> stored_theta_;        // what a checkpoint refers to while it is written
  std::unique_ptr<DeviceDensity> device_;  // where a GPU was chosen
  bool is_between_runs_ = true;            // of its steps
  double last_d_b_ = 0;                    // of the step whose move goes on there
};

}  // namespace

DensityResult train_density(const PointSource& data, std::span<const uint64_t> train_rows,
                            std::span<const uint64_t> valid_rows, const DensityOptions& options,
                            const CheckpointOptions& checkpoint, TrainObserver& observer) {
  options.validate();
  const ThreadLimit limit(options.threads);
  if (objective_entry(options.objective).seam == ObjectiveSeam::proposal)
    return fit_proposal_alone(data, train_rows, valid_rows, options, observer);
  if (data.has_intervals() && fits_family(options, data.columns()))
    throw_error(
        "`energy {}` is fitted at once to numbers, and the data have intervals (row {}); use `optimiser "
        "adam`, or `objective fit` `proposal gaussian` or mixture",
        options.energy, first_interval(data));
  if (fits_family(options, data.columns()))
    if (auto fitted = train_family(data, train_rows, valid_rows, options, observer))
      return *std::move(fitted);
  if (is_autoregressive(options.energy))
    return train_autoregressive(data, train_rows, valid_rows, options, checkpoint, observer);
  DensityTraining training(data, train_rows, valid_rows, options, observer);
  const std::string mark =
      density_fingerprint(data, train_rows, valid_rows, options) + training.device_mark();
  const auto result = [&training](RunOutcome outcome) { return training.result(std::move(outcome)); };
  if (training.device_mark().empty() &&
      races_lines(options, training.problem(), train_rows.size(), valid_rows.size()))
    return race_lines(training, training.problem(), options, result,
                      {train_rows, valid_rows, checkpoint, mark}, observer);
  return result(run(training, checkpoint, mark, observer));
}

}  // namespace selfnorm
