#include "family/regressor/train/regressor_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "family/regressor/train/regressor_member.h"
#include "family/regressor/train/regressor_options.h"
#include "math/parallel.h"
#include "math/random.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMemberStream = 0x3E3B, kFoldStream = 0xF01D;
constexpr uint64_t kFolds = 10;  // a member of an ensemble checks itself on one of as many parts, at least
constexpr const char* kRegressorRemedy =
    "try a smaller --learning-rate, more --samples or a larger --least-scale";

class Ensemble final : public Members {
 public:
  Ensemble(const Frame& frame, const std::vector<std::string>& targets, std::span<const uint64_t> train_rows,
           std::span<const uint64_t> valid_rows, const RegressorOptions& options, TrainObserver& observer)
      : train_rows_(train_rows),
        valid_rows_(valid_rows),
        problem_(frame, targets, train_rows, valid_rows, options),
        options_(problem_.options()),
        observer_(observer) {}

  uint64_t count() const override { return options_.ensemble; }

  void begin() override {
    for (const std::string& text : problem_.warnings()) observer_.on_warning(text);
  }

  Problem& make(uint64_t i) override {
    Rows rows = rows_of(i);
    member_ = std::make_unique<RegressorMember>(problem_, member_seed(i), std::move(rows.train),
                                                std::move(rows.valid));
    return *member_;
  }

  void finish(uint64_t i, const RunOutcome& outcome) override {
    RegressorMember::Result result = member_->finish(outcome);
    if (result.diverged) {
      ++diverged_;
      observer_.on_warning(
          fmt::format("the loss became infinite or NaN at step {}: the best before it is kept; {}",
                      outcome.steps, kRegressorRemedy));
    }
    if (result.is_mixture_alone)
      observer_.on_warning(
          fmt::format("{} {} step {}, before the score network was trained: it is the mixture alone, with "
                      "b(x) = A(x) = 0",
                      options_.ensemble == 1 ? "the model" : fmt::format("member {}", i),
                      result.check ? "did best on held-out rows at" : "is that of", result.kept));
    if (result.check) check_sum_ += *result.check, ++checked_;
    stopped_ += outcome.ran_out_of_patience ? 1 : 0;
    kept_ = result.kept;
    taken_ += outcome.steps;
    saved_.push_back(FlatParameters(result.networks.parameters()).gather());
    done_.push_back(std::move(result.networks));
    member_.reset();
  }

  void state(CheckpointFields& fields, uint64_t finished) override {
    saved_.resize(finished);
    for (uint64_t i = 0; i < finished; ++i) {
      fields(fmt::format("member.{}", i), saved_[i]);
      if (!fields.reads()) continue;
      done_.push_back(problem_.make_networks(member_seed(i), train_rows_));
      FlatParameters(done_[i].parameters()).scatter(saved_[i]);
      done_[i].parameters_changed();
      problem_.set_unseen(rows_of(i).train, done_[i]);
    }
    fields("check.sum", check_sum_);
    fields("members.checked", checked_);
    fields("members.kept", kept_);
    fields("members.taken", taken_);
    fields("members.diverged", diverged_);
    fields("members.stopped", stopped_);
  }

  RegressorResult result(RunOutcome outcome) {
    RegressorResult out;
    const bool is_interrupted = outcome.ending == Ending::interrupted;
    out.take(std::move(outcome));
    if (is_interrupted) return out;
    out.diverged = diverged_ > 0;
    out.reason = diverged_ > 0  ? fmt::format("the loss became infinite or NaN; {}", kRegressorRemedy)
                 : stopped_ > 0 ? fmt::format("stopped: {} checks without improvement", options_.patience)
                                : std::string("completed");
    if (options_.ensemble == 1 && checked_ > 0)
      out.reason += fmt::format(" (kept: step {} of {}, the best on held-out rows)", kept_, taken_);
    if (checked_ > 0) out.valid_nll = check_sum_ / static_cast<double>(checked_);
    out.model = problem_.release();
    out.model.members = std::move(done_);
    out.model.normalizer_kind = normalizer_kind();
    out.model.objective_json = regressor_objective_json(options_);
    out.model.training_json = regressor_training_json(options_, out.reason, train_rows_.size(), taken_);
    return out;
  }

 private:
  uint64_t member_seed(uint64_t i) const {
    return options_.ensemble == 1 ? options_.seed
                                  : RandomStream(RandomStream(options_.seed, kMemberStream).next(), i).next();
  }

  struct Rows {
    std::vector<uint64_t> train, valid;
  };
  // Of member i: of an ensemble, part i of the training rows is what it is checked on.
  Rows rows_of(uint64_t i) const {
    if (options_.ensemble == 1)
      return {{train_rows_.begin(), train_rows_.end()}, {valid_rows_.begin(), valid_rows_.end()}};
    const std::vector<uint64_t> order =
        random_permutation(train_rows_.size(), RandomStream(options_.seed, kFoldStream));
    const uint64_t folds = std::max(kFolds, options_.ensemble);
    Rows out;
    for (uint64_t j = 0; j < order.size(); ++j)
      (j % folds == i ? out.valid : out.train).push_back(train_rows_[order[j]]);
    return out;
  }

  std::string normalizer_kind() const {
    const ObjectiveEntry& objective = objective_entry(options_.objective);
    if (objective.seam == ObjectiveSeam::proposal) return "zero";
    return objective.uses_normalizer && !options_.calibrate ? "learned" : "fitted";
  }

  std::span<const uint64_t> train_rows_, valid_rows_;
  RegressorProblem problem_;
  const RegressorOptions& options_;
  TrainObserver& observer_;
  std::unique_ptr<RegressorMember> member_;  // the one in training
  std::vector<RegressorNetworks> done_;
  std::vector<std::vector<float>> saved_;  // the parameters of those
  double check_sum_ = 0;
  uint64_t checked_ = 0, kept_ = 0, taken_ = 0, diverged_ = 0, stopped_ = 0;
};

}  // namespace

RegressorResult train_regressor(const Frame& frame, const std::vector<std::string>& targets,
                                std::span<const uint64_t> train_rows, std::span<const uint64_t> valid_rows,
                                const RegressorOptions& options, const CheckpointOptions& checkpoint,
                                TrainObserver& observer) {
  options.validate();
  const ThreadLimit limit(options.threads);
  const std::string mark = regressor_fingerprint(frame, targets, train_rows, valid_rows, options);
  Ensemble ensemble(frame, targets, train_rows, valid_rows, options, observer);
  return ensemble.result(run(ensemble, checkpoint, mark, observer));
}

}  // namespace selfnorm
