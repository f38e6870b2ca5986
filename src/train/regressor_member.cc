#include "selfnorm/train/regressor_member.h"

#include <algorithm>
#include <cmath>

#include "regressor_normalizer.h"
#include "selfnorm/base/error.h"
#include "selfnorm/math/random.h"
#include "selfnorm/math/vector.h"
#include "selfnorm/normalizer/conditional_quadrature.h"
#include "selfnorm/proposal/density/normal_draws.h"

namespace selfnorm {
namespace {

constexpr size_t kFewMemberRows = 8;
constexpr uint64_t kMemberOrderStream = 0x0D3A, kFloorStream = 0xF100, kInputStream = 0x1A0,
                   kCheckStream = 0xC4EC;
constexpr uint64_t kMemberReports = 100;  // in a run
// Of a check, by the dimension of y, which is what quadrature costs.
constexpr uint64_t kMostCheckRows[] = {1000, 200, 50};
constexpr double kCheckPrecision[] = {1e-3, 1e-2, 3e-2};  // of A

std::vector<std::span<float>> parts_of(const FlatParameters& parameters, std::vector<float>& flat) {
  std::vector<std::span<float>> parts;
  for (size_t i = 0; i < parameters.blocks(); ++i) parts.push_back(parameters.part(std::span(flat), i));
  return parts;
}

double mixture_nll(const ConditionalMixture& mixture, const MixturePoints& at, double tail_weight) {
  std::vector<double> log_q(at.row.size()), log_g(at.row.size());
  mixture.log_prob(at, log_q, log_g);
  double sum = 0;
  broaden(log_q, log_g, tail_weight);
  for (const double value : log_q) sum -= value;
  return sum / static_cast<double>(log_q.size());
}

}  // namespace

RegressorMember::RegressorMember(const RegressorProblem& problem, uint64_t seed,
                                 std::vector<uint64_t> train_rows, std::vector<uint64_t> valid_rows)
    : problem_(problem),
      options_(problem.options()),
      train_rows_(std::move(train_rows)),
      valid_rows_(std::move(valid_rows)),
      networks_(problem.make_networks(seed, train_rows_)),
      parameters_(networks_.parameters()),
      pass_(networks_),
      order_(train_rows_.size(), RandomStream(seed, kMemberOrderStream).next()),
      optimiser_("adam", parameters_.size(), 0),
      theta_(parameters_.gather()),
      average_(theta_),
      best_(theta_),
      gradient_(theta_.size()),
      gradient_parts_(parts_of(parameters_, gradient_)),
      rate_factor_(parameters_.blocks(), 1.0) {
  options_.seed = seed;
  if (const uint64_t most = kMostCheckRows[problem.model().dimension() - 1]; valid_rows_.size() > most) {
    RandomStream(seed, kCheckStream).shuffle(valid_rows_);
    valid_rows_.resize(most);
  }
  if (networks_.normalizer) rate_factor_.back() = options_.normalizer_rate;
  if (networks_.tilt) tilt_step_ = make_regressor_step({*networks_.tilt, problem_.mixture(), options_});
  per_epoch_ = (train_rows_.size() + options_.batch - 1) / options_.batch;
  steps_ = std::max<uint64_t>(1, options_.epochs * per_epoch_);
  warm_steps_ = tilt_step_ ? static_cast<uint64_t>(options_.warm_up * static_cast<double>(steps_)) : 0;
  check_interval_ = std::max<uint64_t>(1, steps_ / options_.checks);
  schedule_ = {options_.schedule, steps_, per_epoch_};
}

std::optional<Progress> RegressorMember::advance() {
  SELFNORM_CHECK(!is_done());
  if (!take_step()) {
    diverged_ = true;
    return progress();
  }
  ++at_;
  const bool is_check = at_ == steps_ || at_ % check_interval_ == 0;
  if (is_check) check();
  if (!is_check && at_ % std::max<uint64_t>(1, steps_ / kMemberReports) != 0) return std::nullopt;
  return progress();
}

void RegressorMember::read_batch() {
  const uint64_t in_epoch = at_ % per_epoch_, first = in_epoch * options_.batch;
  const uint64_t count = std::min<uint64_t>(options_.batch, train_rows_.size() - first);
  order_.slice(at_ / per_epoch_, first, count, chosen_);
  for (uint64_t& i : chosen_) i = train_rows_[i];
  batch_ = problem_.inputs().take(chosen_);
  if (options_.input_noise > 0) {
    RandomStream random(RandomStream(options_.seed, kInputStream).next(), at_);
    noise_.resize(batch_.number.size());
    fill_normals(random, noise_);
    for (size_t i = 0; i < noise_.size(); ++i)
      batch_.number[i] += static_cast<float>(options_.input_noise * noise_[i]);
  }
  const Points all = problem_.targets();
  target_.resize(count * all.columns);
  RandomStream random(RandomStream(options_.seed, kFloorStream).next(), at_);
  for (uint64_t i = 0; i < count; ++i)
    for (uint32_t j = 0; j < all.columns; ++j) {
      const double floor = problem_.noise_floor()[j], y = static_cast<double>(all.row(chosen_[i])[j]);
      target_[i * all.columns + j] =
          floor > 0 ? reflected(problem_.mixture(), y + floor * random.normal(), j) : all.row(chosen_[i])[j];
    }
}

// False when the loss is not finite.
bool RegressorMember::take_step() {
  read_batch();
  const bool is_tilted = this->is_tilted(at_);
  std::fill(gradient_.begin(), gradient_.end(), 0.0f);
  pass_.forward(batch_.view(), is_tilted);
  const uint64_t n = batch_.rows;
  const Points y{target_.data(), n, problem_.targets().columns};

  terms_ = {};
  if (is_tilted) {
    const size_t tilt = gradient_parts_.size() - (networks_.normalizer ? 2 : 1);
    terms_ = (*tilt_step_)({.y = y,
                            .mixture = pass_.mixture(),
                            .context = pass_.context(),
                            .b = pass_.normalizer(),
                            .step = at_},
                           {.mixture = pass_.d_mixture(),
                            .context = pass_.d_context(),
                            .b = pass_.d_normalizer(),
                            .tilt = gradient_parts_[tilt]});
  }
  if (!is_tilted || options_.learn_proposal != "kl") {
    own_row_.resize(n);
    for (uint32_t i = 0; i < n; ++i) own_row_[i] = i;
    const MixturePoints at{pass_.mixture(), y, own_row_};
    const std::vector<double> weight(n, -1 / static_cast<double>(n));
    problem_.mixture().add_gradient(at, options_.tail_weight, weight, pass_.d_mixture());
    if (!is_tilted) terms_.loss = mixture_nll(problem_.mixture(), at, options_.tail_weight);
  }
  pass_.backward(gradient_parts_);

  const double square = inner_product<float>(gradient_, gradient_);
  if (!std::isfinite(terms_.loss) || !std::isfinite(square)) return false;
  gradient_norm_ = std::sqrt(square);
  const double ramp = std::min(1.0, static_cast<double>(at_ + 1) / static_cast<double>(options_.ramp + 1));
  move(options_.learning_rate * ramp * schedule_.factor(at_));
  loss_sum_ += terms_.loss;
  ++loss_count_;
  return true;
}

void RegressorMember::move(double rate) {
  if (gradient_norm_ > options_.clip) multiply<float>(options_.clip / gradient_norm_, gradient_);
  if (options_.weight_decay > 0) multiply<float>(1 - rate * options_.weight_decay, theta_);
  optimiser_.begin_step();
  for (size_t i = 0; i < gradient_parts_.size(); ++i)
    optimiser_.update(theta_, parameters_.offset(i), gradient_parts_[i], rate * rate_factor_[i], 0);
  if (options_.shared_scale)
    share_scales(problem_.mixture().shape(),
                 parameters_.part(std::span(theta_), networks_.tilt_features ? 2 : 1));
  parameters_.scatter(theta_);
  networks_.parameters_changed();
  const double t = static_cast<double>(at_);
  const auto decay = static_cast<float>(std::min(options_.average, (1 + t) / (10 + t)));
  for (size_t i = 0; i < theta_.size(); ++i) average_[i] = decay * average_[i] + (1 - decay) * theta_[i];
}

// Without rows to check on, a few of the last step say whether the parameters can be used at all; their
// densities also where A is taken as 0.
void RegressorMember::check() {
  last_check_.reset();
  parameters_.scatter(average_);
  networks_.parameters_changed();
  problem_.set_unseen(train_rows_, networks_);
  const auto few = std::span<const uint64_t>(chosen_).first(std::min(kFewMemberRows, chosen_.size()));
  try {
    last_check_ = mean_nll(valid_rows_.empty() ? few : valid_rows_);
    // A held-out target may have no density: +inf.
    diverged_ = !(std::isfinite(*last_check_) || (*last_check_ > 0 && !valid_rows_.empty()));
    if (!is_tilted(at_)) require_usable(few);
  } catch (const Error&) {  // scores that are not finite
    diverged_ = true;
  }
  parameters_.scatter(theta_);
  networks_.parameters_changed();
  if (diverged_) return;
  if (valid_rows_.empty()) {
    last_check_.reset();
    best_ = average_;
    best_step_ = at_;
    return;
  }
  ++stale_;
  if (std::isfinite(*last_check_) && (!best_check_ || *last_check_ < *best_check_)) {
    best_check_ = last_check_;
    best_ = average_;
    best_step_ = at_;
    stale_ = 0;
  }
  stopped_ = options_.patience > 0 && stale_ >= options_.patience;
}

double RegressorMember::mean_nll(std::span<const uint64_t> rows) const {
  const EncodedFrame x = problem_.inputs().take(rows);
  const std::vector<float> y = problem_.take_targets(rows);
  const auto scores = prepare_scores(problem_.model(), networks_, x.view());
  std::vector<uint32_t> row(rows.size());
  for (uint32_t i = 0; i < row.size(); ++i) row[i] = i;
  std::vector<double> s(rows.size());
  scores->score({y.data(), rows.size(), problem_.targets().columns}, row, s);
  double sum = 0;
  for (const double value : s) sum -= value;
  if (is_tilted(at_))
    for (const ConditionalLogZ& z :
         conditional_log_z(*scores, {.precision = kCheckPrecision[problem_.model().dimension() - 1]}))
      sum += z.value;
  return sum / static_cast<double>(rows.size()) + problem_.model().log_volume();
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

Progress RegressorMember::progress() {
  Progress out;
  out.step = at_;
  out.steps = steps_;
  out.epoch = at_ == 0 ? 0 : (at_ - 1) / per_epoch_;
  out.loss = loss_sum_ / static_cast<double>(std::max<uint64_t>(1, loss_count_));
  loss_sum_ = 0;
  loss_count_ = 0;
  out.gradient_norm = gradient_norm_;
  if (is_tilted(at_ == 0 ? 0 : at_ - 1) && tilt_step_->uses_normalizer()) {
    double sum = 0;
    for (const double b : pass_.normalizer()) sum += b;
    out.log_normalizer = sum / static_cast<double>(pass_.normalizer().size());
  }
  if (terms_.has_estimate) {
    out.log_ratio = terms_.log_ratio;
    out.effective_samples = terms_.effective_samples;
  }
  out.valid_nll = std::exchange(last_check_, std::nullopt);
  return out;
}

RegressorNetworks RegressorMember::finish() {
  try {
    settle();
  } catch (const Error&) {  // scores that are not finite
    diverged_ = true;
    best_ = FlatParameters(problem_.make_networks(options_.seed, train_rows_).parameters()).gather();
    best_step_ = 0;
    best_check_.reset();
    settle();
  }
  return networks_.copy();
}

void RegressorMember::settle() {
  parameters_.scatter(best_);
  networks_.parameters_changed();
  problem_.set_unseen(train_rows_, networks_);
  if (diverged_ || valid_rows_.empty()) {  // only a few rows may have been checked
    const uint64_t most = kMostCheckRows[problem_.model().dimension() - 1];
    require_usable(
        std::span<const uint64_t>(train_rows_).first(std::min<uint64_t>(most, train_rows_.size())));
  }
  const bool is_tilted = this->is_tilted(best_step_);
  if (networks_.normalizer && is_tilted && (options_.calibrate || !tilt_step_->uses_normalizer()))
    fit_normalizer(problem_, train_rows_, options_.seed, networks_);
  if (networks_.normalizer && !is_tilted) {  // f = 0, so A = 0
    std::fill(networks_.normalizer->parameters().begin(), networks_.normalizer->parameters().end(), 0.0f);
    networks_.normalizer->parameters_changed();
  }
}

}  // namespace selfnorm
