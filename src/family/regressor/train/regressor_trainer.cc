#include "family/regressor/train/regressor_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/failure.h"
#include "family/regressor/train/regressor_member.h"
#include "family/regressor/train/regressor_options.h"
#include "family/regressor/train/regressor_race.h"
#include "math/parallel.h"
#include "math/random.h"
#include "objective/registry.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMemberStream = 0x3E3B, kFoldStream = 0xF01D;
constexpr uint64_t kMostPool = 5;  // members of the averages by which temperatures are chosen
constexpr uint64_t kMostPoolRows = 2000, kMostPoolIntervals = 200;  // whose masses take quadratures
constexpr uint64_t kFolds = 10;  // a member of an ensemble checks itself on one of as many parts, at least
constexpr const char* kRegressorRemedy =
    "try a smaller `learning-rate`, more `samples` or a larger `least-scale`";

class Ensemble final : public Members {
 public:
  Ensemble(const Frame& frame, const std::vector<std::string>& targets, std::span<const uint64_t> train_rows,
           std::span<const uint64_t> valid_rows, const RegressorOptions& options, TrainObserver& observer)
      : frame_(frame),
        targets_(targets),
        train_rows_(train_rows),
        valid_rows_(valid_rows),
        options_(resolved_by_rows(options, train_rows.size())),
        observer_(observer),
        race_(options, train_rows.size(), rows_of(0).valid.size(),
              can_be_tempered(options_) ? std::min(kMostPool, options_.ensemble) : 1) {
    use(race_.heats() > 0 ? race_.heat(0) : race_.outcome());
  }

  // The heats of the race, then the members.
  uint64_t count() const override { return race_.heats() + options_.ensemble; }

  void begin() override {
    for (const std::string& text : problem_->warnings()) observer_.on_warning(text);
  }

  Problem& make(uint64_t i) override {
    if (i < race_.heats()) use(race_.heat(i));
    if (i == race_.heats()) use(race_.outcome());
    const uint64_t own = i < race_.heats() ? race_.start(i) : i - race_.heats();
    Rows rows = i < race_.heats() ? rows_of_heat(race_.fold(i)) : rows_of(own);
    member_ = std::make_unique<RegressorMember>(*problem_, member_seed(own), std::move(rows.train),
                                                std::move(rows.valid));
    device_ = member_->device();
    return *member_;
  }

  Steps steps(uint64_t i, uint64_t own) const override {
    if (race_.heats() == 0) return Members::steps(i, own);
    const bool is_heat = i < race_.heats();
    const uint64_t heat = is_heat ? own : steps_of(race_.heat(0)),
                   member = is_heat ? steps_of(options_) : own;
    const uint64_t all_heats = race_.heats() * heat;
    return {is_heat ? i * heat : all_heats + (i - race_.heats()) * member,
            all_heats + options_.ensemble * member};
  }

  void finish(uint64_t i, const RunOutcome& outcome) override {
    if (i < race_.heats()) {
      race_.finish(i, outcome.best.value_or(INFINITY));
      if (race_.pools())
        race_.keep(i, densities(member_->finish(outcome).networks, pool_rows(race_.fold(i))));
      member_.reset();
      if (i + 1 < race_.heats()) return;
      if (race_.is_raced()) observer_.on_note(race_.text());
      return;
    }
    i -= race_.heats();
    RegressorMember::Result result = member_->finish(outcome);
    if (result.diverged) {
      ++diverged_;
      observer_.on_warning(
          fmt::format("the loss became infinite or NaN at step {}: the best before it is kept; {}",
                      outcome.steps, with_options(kRegressorRemedy)));
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
    race_.state(fields, finished);
    const uint64_t members = finished - std::min(finished, race_.heats());
    if (fields.reads() && members > 0) use(race_.outcome());
    saved_.resize(members);
    for (uint64_t i = 0; i < members; ++i) {
      fields(fmt::format("member.{}", i), saved_[i]);
      if (fields.reads()) {
        done_.push_back(problem_->make_networks(member_seed(i), train_rows_));
        FlatParameters(done_[i].parameters()).scatter(saved_[i]);
        done_[i].parameters_changed();
        problem_->set_unseen(rows_of(i).train, done_[i]);
      }
      fields(fmt::format("member.{}.temperature", i), done_[i].temperature);
    }
    fields("check.sum", check_sum_);
    fields("members.checked", checked_);
    fields("members.kept", kept_);
    fields("members.taken", taken_);
    fields("members.diverged", diverged_);
    fields("members.stopped", stopped_);
  }

  // What tells the bits of a GPU from those of others, in the mark of a checkpoint.
  std::string device_mark() const {
    const std::string name = DeviceRegressor::name_for(*problem_);
    return name.empty() ? name : " on " + name;
  }

  RegressorResult result(RunOutcome outcome) {
    RegressorResult out;
    const bool is_interrupted = outcome.ending == Ending::interrupted;
    out.take(std::move(outcome));
    if (is_interrupted) return out;
    out.diverged = diverged_ > 0;
    out.reason = diverged_ > 0
                     ? fmt::format("the loss became infinite or NaN; {}", with_options(kRegressorRemedy))
                 : stopped_ > 0 ? fmt::format("stopped: {} checks without improvement", options_.patience)
                                : std::string("completed");
    if (options_.ensemble == 1 && checked_ > 0)
      out.reason += fmt::format(" (kept: step {} of {}, the best on held-out rows)", kept_, taken_);
    if (checked_ > 0) out.valid_nll = check_sum_ / static_cast<double>(checked_);
    const PoolTemperatures found = race_.pools() ? settled_by_members(temperatures()) : PoolTemperatures();
    if (race_.pools()) {
      observer_.on_note(race_.text(found));
      temper(found);
    }
    const RegressorOptions& options = problem_->options();
    nlohmann::ordered_json training = nlohmann::ordered_json::parse(
        regressor_training_json(options, out.reason, train_rows_.size(), taken_));
    if (race_.is_raced()) training["race"] = race_.record();
    if (race_.pools()) {
      training["temperatures"] = {{"middle", found.middle}, {"proposed", found.proposed},
                                  {"spread", found.spread}, {"rows", std::llround(found.rows)},
                                  {"valid_nll", found.nll}, {"valid_nll_at_1", found.untouched}};
    }
    if (!device_.empty()) training["device"] = device_;
    out.model = problem_->release();
    out.model.members = std::move(done_);
    out.model.normalizer_kind = normalizer_kind();
    out.model.objective_json = regressor_objective_json(problem_->options());
    out.model.training_json = training.dump();
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
    return fold_of(std::max(kFolds, options_.ensemble), i);
  }
  Rows fold_of(uint64_t folds, uint64_t i) const {
    const std::vector<uint64_t> order =
        random_permutation(train_rows_.size(), RandomStream(options_.seed, kFoldStream));
    Rows out;
    for (uint64_t j = 0; j < order.size(); ++j)
      (j % folds == i ? out.valid : out.train).push_back(train_rows_[order[j]]);
    return out;
  }

  Rows rows_of_heat(uint64_t fold) const {
    return race_.folds() > 1 ? fold_of(race_.folds(), fold) : rows_of(0);
  }

  // The held-out rows of a fold of the race that temperatures are chosen by.
  std::vector<uint64_t> pool_rows(uint64_t fold) const {
    std::vector<uint64_t> rows = rows_of_heat(fold).valid;
    const uint64_t most = problem_->ends().low.empty() ? kMostPoolRows : kMostPoolIntervals;
    rows.resize(std::min<uint64_t>(rows.size(), most / race_.folds()));
    return rows;
  }

  // PoolPart::density of a mixture.
  std::vector<double> densities(RegressorNetworks networks, std::span<const uint64_t> rows) const {
    const std::vector<double> grid = pool_grid();
    std::vector<double> out(rows.size() * grid.size());
    for (size_t k = 0; k < grid.size(); ++k) {
      networks.temperature = grid[k];
      const std::vector<double> nll = held_out_nlls(*problem_, networks, rows, false);
      for (size_t j = 0; j < rows.size(); ++j) out[j * grid.size() + k] = -nll[j];
    }
    return out;
  }

  PoolTemperatures temperatures() const {
    std::vector<std::vector<double>> weight(race_.folds());
    for (uint64_t k = 0; k < race_.folds(); ++k)
      for (const uint64_t row : pool_rows(k)) weight[k].push_back(problem_->weight(row));
    return race_.temperatures(std::move(weight));
  }

  // Every member as it is served is asked about the rows that it was checked on.
  PoolTemperatures settled_by_members(const PoolTemperatures& found) const {
    std::vector<std::vector<uint64_t>> rows;
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i < done_.size(); ++i) {
      rows.push_back(rows_of(i).valid);
      rows[i].resize(std::min<uint64_t>(rows[i].size(), member_rows() / done_.size() + 1));
      all.insert(all.end(), rows[i].begin(), rows[i].end());
    }
    return settled(found, effective_rows(*problem_, all), [&](double temperature) {
      double sum = 0, weights = 0;
      for (uint64_t i = 0; i < done_.size(); ++i) {
        double weight = 0;
        for (const uint64_t row : rows[i]) weight += problem_->weight(row);
        RegressorNetworks member = done_[i].copy();
        member.temperature = temperature;
        sum += weight * held_out_nll(*problem_, member, rows[i], member.tilt != nullptr);
        weights += weight;
      }
      return sum / weights;
    });
  }
  uint64_t member_rows() const {
    constexpr uint64_t kMost[] = {500, 100, 25};  // by the dimension of y, as A(x) takes quadratures
    return kMost[problem_->model().dimension() - 1];
  }

  void temper(const PoolTemperatures& found) {
    for (uint64_t i = 0; i < done_.size(); ++i) {
      done_[i].temperature = found.of(i, done_.size());
      const bool is_tilted =  // otherwise b = 0
          done_[i].normalizer && std::ranges::any_of(std::as_const(*done_[i].normalizer).parameters(),
                                                     [](float v) { return v != 0; });
      if (done_[i].temperature == 1 || !is_tilted) continue;
      const Rows rows = rows_of(i);
      fit_normalizer(*problem_, {rows.train, rows.valid}, member_seed(i), done_[i]);
    }
  }

  void use(const RegressorOptions& options) {
    problem_ = std::make_unique<RegressorProblem>(frame_, targets_, train_rows_, valid_rows_, options);
  }
  uint64_t steps_of(const RegressorOptions& o) const {
    const uint64_t rows = rows_of(0).train.size();
    return std::max<uint64_t>(1, o.epochs * ((rows + o.batch - 1) / o.batch));
  }

  std::string normalizer_kind() const {
    const ObjectiveEntry& objective = objective_entry(options_.objective);
    if (objective.seam == ObjectiveSeam::proposal) return "zero";
    return objective.uses_normalizer && !options_.calibrate ? "learned" : "fitted";
  }

  const Frame& frame_;
  const std::vector<std::string>& targets_;
  std::span<const uint64_t> train_rows_, valid_rows_;
  RegressorOptions options_;  // with what the rows say; what the race says is in the problem
  TrainObserver& observer_;
  RegressorRace race_;
  std::unique_ptr<RegressorProblem> problem_;  // of the heat, or of the members
  std::unique_ptr<RegressorMember> member_;    // the one in training
  std::string device_;                         // that takes its steps; empty: the CPU
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
  Ensemble ensemble(frame, targets, train_rows, valid_rows, options, observer);
  const std::string mark =
      regressor_fingerprint(frame, targets, train_rows, valid_rows, options) + ensemble.device_mark();
  return ensemble.result(run(ensemble, checkpoint, mark, observer));
}

}  // namespace selfnorm
