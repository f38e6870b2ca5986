// Adam on the energy, and on b with a rate of its own (theory.md 3, "what makes SNL work in practice"): b
// starts at an importance estimate of log Z, moves alone at first, and is estimated anew when log r drifts;
// the gradient is clipped; a step that is not finite ends the run at the last good energy, as does "is" when
// its draws are lost (seen_draws.h).
#include "selfnorm/train/density_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "density_fit.h"
#include "seen_draws.h"
#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"
#include "selfnorm/math/vector.h"
#include "selfnorm/optim/schedule.h"
#include "selfnorm/train/adaptive_checkpoint.h"
#include "selfnorm/train/density_batches.h"
#include "selfnorm/train/density_normalizer.h"
#include "selfnorm/train/density_record.h"
#include "selfnorm/train/density_step.h"
#include "selfnorm/train/density_validation.h"
#include "selfnorm/train/family_training.h"
#include "selfnorm/train/pace.h"

namespace selfnorm {
namespace {

constexpr uint64_t kDriftsShown = 3, kMostDrifts = 20;
constexpr uint64_t kReports = 100, kChecks = 20;  // in a run
constexpr uint64_t kFinalSamples = 200'000;       // for b at the end
constexpr uint64_t kFinalStream = 0xE570, kSeenStream = 0x5EE4;
constexpr const char* kRemedy =
    "a smaller --learning-rate, more --samples, a proposal that covers the data (--proposal mixture:32), or "
    "--base "
    "proposal";

class DensityTrainer {
 public:
  DensityTrainer(const PointSource& data, std::span<const uint64_t> train_rows,
                 std::span<const uint64_t> valid_rows, const DensityOptions& options,
                 const CheckpointOptions& checkpoint, TrainObserver& observer)
      : train_rows_(train_rows),
        problem_(data, train_rows, options),
        options_(problem_.options()),
        observer_(observer),
        step_(make_density_step(problem_)),
        validation_(problem_, valid_rows),
        batches_(problem_, train_rows),
        optimiser_("adam", problem_.energy().parameters().size(), 0),
        b_(problem_, step_->uses_normalizer()),
        schedule_{options_.schedule, options_.steps, batches_.per_epoch()},
        pace_(checkpoint, density_fingerprint(data, options), observer),
        gradient_(problem_.energy().parameters().size()) {}

  DensityResult run() {
    Checkpoint checkpoint;
    if (pace_.resumes(checkpoint)) {
      restore(checkpoint);
    } else {
      for (const std::string& text : problem_.warnings()) observer_.on_warning(text);
      if (validation_.outside() > 0)
        observer_.on_warning(
            fmt::format("{} validation rows are outside the support that the training rows have; they are "
                        "left out of the checks",
                        validation_.outside()));
      b_.estimate(at_);
      keep_good();
      if (needs_draws()) validation_.check(b_.value(), at_);  // the start may stay the best
    }
    const uint64_t all = steps();
    while (at_ < all) {
      if (!take_step()) return diverge();
      ++at_;
      if (report()) return finish(fmt::format("validation did not improve in {} checks", options_.patience));
      const bool interrupt = observer_.stop_requested();
      pace_.checkpoint(interrupt, [this](Checkpoint& c) { save(c); });
      if (interrupt) {
        DensityResult out;
        out.interrupted = true;
        out.reason = "interrupted";
        out.last = progress_;
        return out;
      }
    }
    if (!is_finite()) return diverge();  // the last step has no loss after it
    return finish("completed all steps");
  }

 private:
  // b alone moves first.
  uint64_t warm_steps() const { return b_.is_learned() ? options_.normalizer_steps : 0; }
  uint64_t steps() const { return warm_steps() + options_.steps; }
  uint64_t check_interval() const { return std::max<uint64_t>(1, steps() / kChecks); }
  bool needs_draws() const { return options_.objective == "is"; }

  bool take_step() {
    const bool is_warm = at_ < warm_steps();
    batches_.read(at_);
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    terms_ =
        (*step_)(batches_.points(), at_, b_.value(), is_warm ? std::span<float>() : std::span(gradient_));
    const double square = inner_product<float>(gradient_, gradient_);
    if (!std::isfinite(terms_.loss) || !std::isfinite(square)) return false;
    gradient_norm_ = std::sqrt(square);
    if (needs_draws()) seen_.add(terms_.estimate->effective);
    if (seen_.is_lost()) return false;
    if (at_ % check_interval() == 0 && is_seen()) keep_good();
    if (terms_.estimate) watch_ratio(terms_.estimate->log_z - b_.value());
    if (drifts_ > kMostDrifts) return false;
    const double factor = schedule_.factor(is_warm ? 0 : at_ - warm_steps());
    if (!is_warm) move_energy(options_.learning_rate * factor);
    b_.move(terms_.d_log_normalizer, options_.normalizer_rate * options_.learning_rate * factor);
    loss_sum_ += terms_.loss;
    ++loss_count_;
    return true;
  }

  void move_energy(double rate) {
    if (gradient_norm_ > options_.clip) multiply<float>(options_.clip / gradient_norm_, gradient_);
    const std::span<float> theta = problem_.energy().parameters();
    if (options_.weight_decay > 0) multiply<float>(1 - rate * options_.weight_decay, theta);
    optimiser_.begin_step();
    optimiser_.update(theta, 0, gradient_, rate, 0);
    problem_.energy().parameters_changed();
    step_->update(rate);
  }

  // A warning for the first drifts; a run that drifts on and on is lost.
  void watch_ratio(double log_ratio) {
    const auto drifted = b_.watch(log_ratio, at_);
    if (drifted && ++drifts_ <= kDriftsShown)
      observer_.on_warning(
          fmt::format("log r drifted to {:.2f} at step {}: b was estimated anew", *drifted, at_));
  }

  // True when validation says stop.
  bool report() {
    const uint64_t all = steps();
    const bool is_check = at_ == all || at_ % check_interval() == 0;
    if (!is_check && at_ % std::max<uint64_t>(1, all / kReports) != 0) return false;
    measure();
    bool stop = false;
    if (is_check && validation_.present() && at_ > warm_steps()) {
      progress_.valid_nll_estimate = validation_.check(b_.value(), at_);
      stop = options_.patience > 0 && validation_.stale() >= options_.patience;
    }
    observer_.on_progress(progress_);
    return stop;
  }

  void measure() {
    progress_ = {};
    progress_.step = at_;
    progress_.steps = steps();
    progress_.epoch = (at_ - 1) / batches_.per_epoch();
    progress_.loss = loss_sum_ / static_cast<double>(std::max<uint64_t>(1, loss_count_));
    loss_sum_ = 0;
    loss_count_ = 0;
    progress_.gradient_norm = gradient_norm_;
    progress_.seconds = pace_.seconds();
    if (step_->uses_normalizer()) progress_.log_normalizer = b_.value();
    if (!terms_.estimate) return;
    progress_.log_ratio = terms_.estimate->log_z - b_.value();
    progress_.effective_samples = terms_.estimate->effective;
    std::vector<double> score(batches_.rows());
    problem_.energy().score(batches_.points(), score);
    double sum = 0;
    for (const double s : score) sum += s;
    progress_.nll_estimate = terms_.estimate->log_z - sum / static_cast<double>(batches_.rows()) +
                             problem_.standardisation().log_volume();
  }

  bool is_finite() const {
    std::vector<double> score(batches_.rows());
    problem_.energy().score(batches_.points(), score);
    return std::all_of(score.begin(), score.end(), [](double s) { return std::isfinite(s); });
  }

  // Without rows to check on: whether more draws than those of a step see log Z, which few may miss by
  // chance.
  bool is_seen() const {
    return !needs_draws() || validation_.present() ||
           importance_log_z(problem_.energy(), problem_.proposal(), DensityValidation::kSamples,
                            RandomStream(options_.seed, kSeenStream).next())
                   .effective >= DensityValidation::kLeastEffective;
  }

  // What just gave a finite loss, unless b had to be estimated anew since the last time.
  void keep_good() {
    if (std::exchange(good_drifts_, drifts_) != drifts_) return;
    const std::span<const float> theta = std::as_const(problem_.energy()).parameters();
    good_.assign(theta.begin(), theta.end());
    good_normalizer_ = b_.value();
  }

  DensityResult diverge() {
    std::copy(good_.begin(), good_.end(), problem_.energy().parameters().begin());
    problem_.energy().parameters_changed();
    b_.set(good_normalizer_);
    const std::string what =
        drifts_ > kMostDrifts ? fmt::format("b was lost {} times, last", drifts_)
        : seen_.is_lost()     ? fmt::format("the {} draws of a step were worth {:.1f}, too few to see log Z,",
                                            options_.samples, seen_.mean())
                              : "the loss became infinite or NaN";
    DensityResult out = finish(fmt::format("{} at step {}; try {}", what, at_, kRemedy));
    out.diverged = true;
    return out;
  }

  DensityResult finish(std::string reason) {
    DensityResult out;
    b_.set(validation_.restore_best(b_.value()));
    if (const auto kept = validation_.best_step(); kept && *kept < at_)
      reason += fmt::format(" (kept: step {}, the best on held-out rows)", *kept);
    progress_.step = at_;
    out.reason = reason;
    out.last = progress_;
    out.learned_normalizer = b_.value();
    std::string kind = step_->uses_normalizer() ? options_.normalizer : "estimated";
    if (options_.normalizer != "zero" && (options_.calibrate || !step_->uses_normalizer())) calibrate(kind);
    const std::string objective = density_objective_json(options_);
    const std::string training = density_training_json(options_, reason, train_rows_.size(), progress_);
    out.model = problem_.release();
    out.model.log_normalizer = b_.value();
    out.model.normalizer_kind = kind;
    out.model.objective_json = objective;
    out.model.training_json = training;
    return out;
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

  void save(Checkpoint& c) const {
    const std::span<const float> theta = std::as_const(problem_).energy().parameters();
    saved_theta_.assign(theta.begin(), theta.end());
    c.set("step", at_);
    c.set("drifts", drifts_);
    c.set("good.drifts", good_drifts_);
    c.set("theta", saved_theta_);
    c.set("good", good_);
    c.set("good.normalizer", good_normalizer_);
    c.set("loss", loss_sum_);
    c.set("loss.count", loss_count_);
    c.set("gradient_norm", gradient_norm_);
    seen_.save(c);
    save_adaptive(optimiser_, "optimiser", c);
    b_.save(c);
    step_->save(c);
    validation_.save(c);
  }

  void restore(const Checkpoint& c) {
    std::vector<float> theta(gradient_.size());
    at_ = c.integer("step");
    drifts_ = c.integer("drifts");
    good_drifts_ = c.integer("good.drifts");
    c.get("theta", theta);
    std::copy(theta.begin(), theta.end(), problem_.energy().parameters().begin());
    problem_.energy().parameters_changed();
    c.get("good", good_, gradient_.size());
    good_normalizer_ = c.number("good.normalizer");
    loss_sum_ = c.number("loss");
    loss_count_ = c.integer("loss.count");
    gradient_norm_ = c.number("gradient_norm");
    seen_.restore(c);
    restore_adaptive(c, "optimiser", optimiser_);
    b_.restore(c);
    step_->restore(c);
    validation_.restore(c);
    if (at_ > 0) batches_.read(at_ - 1);  // of the last step, which may have been the last of all
  }

  std::span<const uint64_t> train_rows_;
  DensityProblem problem_;
  const DensityOptions& options_;
  TrainObserver& observer_;
  std::unique_ptr<DensityStep> step_;
  DensityValidation validation_;
  DensityBatches batches_;
  Adaptive<float> optimiser_;
  DensityNormalizer b_;
  Schedule schedule_;
  Pace pace_;
  uint64_t at_ = 0;
  uint64_t drifts_ = 0,
           good_drifts_ = 0;  // times that b was estimated anew: now, and when the last good was kept
  DensityStepTerms terms_;
  std::vector<float> gradient_, good_;
  mutable std::vector<float> saved_theta_;  // what a checkpoint refers to while it is written
  double good_normalizer_ = 0;
  double gradient_norm_ = 0;
  SeenDraws seen_{options_.samples};
  double loss_sum_ = 0;  // since the last report
  uint64_t loss_count_ = 0;
  Progress progress_;
};

}  // namespace

DensityResult train_density(const PointSource& data, std::span<const uint64_t> train_rows,
                            std::span<const uint64_t> valid_rows, const DensityOptions& options,
                            const CheckpointOptions& checkpoint, TrainObserver& observer) {
  options.validate();
  const ThreadLimit limit(options.threads);
  if (options.objective == "fit") return fit_proposal_alone(data, train_rows, options, observer);
  if (fits_family(options, data.columns()))
    if (auto fitted = train_family(data, train_rows, valid_rows, options, observer))
      return *std::move(fitted);
  return DensityTrainer(data, train_rows, valid_rows, options, checkpoint, observer).run();
}

}  // namespace selfnorm
