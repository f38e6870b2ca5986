#include "proposal/autoregressive/autoregressive_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/failure.h"
#include "math/vector.h"
#include "optim/adaptive.h"
#include "proposal/density/precision_root.h"

namespace selfnorm {
namespace {

constexpr uint64_t kOrderStream = 0xA0, kStartStream = 0xA1, kEpochStream = 0xA2, kDropStream = 0xA3,
                   kHeldOutStream = 0xA4;
constexpr double kClip = 10, kSmallerSteps = 0.2, kAverage = 0.995;
constexpr uint64_t kMostHeldOut = 4000;
constexpr float kFarthestFloat = std::numeric_limits<float>::max();

using HeadKind = ConditionalHead::Kind;

Autoregressive::Shape masked_shape(const Points& train, const std::vector<ConditionalHead>& heads,
                                   const AutoregressiveOptions& options) {
  std::vector<uint64_t> order(heads.size());
  std::iota(order.begin(), order.end(), uint64_t{0});
  if (options.is_shuffled) RandomStream(options.seed, kOrderStream).shuffle(order);
  Autoregressive::Shape shape{heads, {order.begin(), order.end()}, options.widths};
  shape.lower.assign(heads.size(), kFarthestFloat);
  shape.upper.assign(heads.size(), -kFarthestFloat);
  for (size_t i = 0; i < train.size(); ++i) {
    const size_t j = i % heads.size();
    shape.lower[j] = std::min(shape.lower[j], train.data[i]);
    shape.upper[j] = std::max(shape.upper[j], train.data[i]);
  }
  return shape;
}

double mean_log_prob(const Density& q, const Points& x) {
  std::vector<double> log_q(x.rows);
  density_log_prob(q, x, log_q);
  return std::accumulate(log_q.begin(), log_q.end(), 0.0) / static_cast<double>(x.rows);
}

class MaskedFit {
 public:
  MaskedFit(const Points& train, const Points& held_out, const std::vector<ConditionalHead>& heads,
            const AutoregressiveOptions& options)
      : train_(train),
        held_out_(held_out),
        options_(options),
        dropout_(
            std::ranges::all_of(heads, [](const ConditionalHead& h) { return h.kind == HeadKind::levels; })
                ? options.dropout
                : 0),
        q_(std::make_unique<Autoregressive>(masked_shape(train, heads, options))),
        adam_("adam", q_->parameters(), 0) {
    q_->draw_start(train, RandomStream(options.seed, kStartStream).next());
    theta_ = average_ = best_ = q_->theta();
    best_value_ = mean_log_prob(*q_, held_out_);
  }

  AutoregressiveFit run() {
    const uint64_t per_epoch = std::max<uint64_t>(1, train_.rows / options_.batch);
    const double operations =
        6.0 * static_cast<double>(q_->parameters()) * static_cast<double>(options_.batch);
    const uint64_t most = std::min<uint64_t>({options_.steps, options_.epochs * per_epoch,
                                              static_cast<uint64_t>(options_.operations / operations)});
    uint64_t epoch = 0, stale = 0, step = 0;
    double rate = options_.rate;
    bool is_small = false;
    for (; step < most; ++epoch) {
      const auto order =
          random_permutation(train_.rows, RandomStream(options_.seed, kEpochStream + epoch * 16));
      for (uint64_t b = 0; b < per_epoch && step < most; ++b, ++step)
        if (!move(std::span(order).subspan(b * options_.batch, std::min(options_.batch, train_.rows)), step,
                  rate))
          break;
      q_->set_theta(average_);
      const double value = mean_log_prob(*q_, held_out_);
      if (value > best_value_) {
        best_value_ = value;
        best_ = average_;
        stale = 0;
      } else if (++stale > options_.patience || !std::isfinite(value)) {
        if (is_small) break;
        is_small = true;
        stale = 0;
        rate *= kSmallerSteps;
        theta_ = average_ = best_;
        adam_ = Adaptive<float>("adam", theta_.size(), 0);
      }
    }
    q_->set_theta(best_);
    return {std::move(q_), best_value_, epoch};
  }

 private:
  bool move(std::span<const uint64_t> rows, uint64_t step, double rate) {
    std::vector<float> batch = train_.take(rows), gradient(theta_.size());
    const Points x{batch.data(), rows.size(), train_.columns};
    q_->set_theta(theta_);
    const double value = q_->add_gradient(
        x, gradient, {dropout_, RandomStream(options_.seed, kDropStream + step * 16).next()});
    const std::span<const uint8_t> mask = q_->mask();
    double square = 0;
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = mask[i] ? -gradient[i] : 0;
      square += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
    }
    if (!std::isfinite(value) || !std::isfinite(square)) return false;
    if (square > kClip * kClip) multiply<float>(kClip / std::sqrt(square), gradient);
    if (options_.decay > 0) multiply<float>(1 - rate * options_.decay, theta_);
    adam_.begin_step();
    adam_.update(theta_, 0, gradient, rate, 0);
    const double t = static_cast<double>(step);
    const auto keep = static_cast<float>(std::min(kAverage, (1 + t) / (10 + t)));
    for (size_t i = 0; i < theta_.size(); ++i) average_[i] = keep * average_[i] + (1 - keep) * theta_[i];
    return true;
  }

  const Points &train_, &held_out_;
  const AutoregressiveOptions& options_;
  double dropout_;
  std::unique_ptr<Autoregressive> q_;
  Adaptive<float> adam_;
  std::vector<float> theta_, average_, best_;
  double best_value_;
};

}  // namespace

std::vector<ConditionalHead> autoregressive_heads(const Points& data, const Support& space) {
  constexpr uint32_t kComponents = 8;
  require_finite_points(data);
  std::vector<ConditionalHead> heads(data.columns, {HeadKind::real, kComponents});
  if (space.space == Support::Space::counts)
    throw Error(
        "an autoregressive density is over real numbers or levels; for counts use products or counts");
  for (uint32_t j = 0; j < data.columns; ++j) {
    if (space.is_whole(j))
      heads[j] = {HeadKind::levels, space.levels[j]};
    else if (!space.wraps.empty() && space.wraps[j])
      heads[j].kind = HeadKind::angle;
  }
  return heads;
}

AutoregressiveFit fit_autoregressive(const Points& data, const Points& held_out,
                                     const std::vector<ConditionalHead>& heads,
                                     const AutoregressiveOptions& options) {
  SELFNORM_CHECK(data.rows > 0 && heads.size() == data.columns);
  if (held_out.rows > 0 || data.rows == 1)
    return MaskedFit(data, held_out.rows > 0 ? held_out : data, heads, options).run();
  std::vector<uint64_t> order = random_permutation(data.rows, RandomStream(options.seed, kHeldOutStream));
  const uint64_t count = std::clamp<uint64_t>(data.rows / 10, 1, kMostHeldOut);
  const std::vector<float> part = data.take(std::span(order).first(count));
  const std::vector<float> rest = data.take(std::span(order).subspan(count));
  return MaskedFit({rest.data(), data.rows - count, data.columns}, {part.data(), count, data.columns}, heads,
                   options)
      .run();
}

}  // namespace selfnorm
