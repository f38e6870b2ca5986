#include "model/regressor/regressor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "math/parallel.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr size_t kScoredValues = 4096;  // a unit of parallel work
constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();

std::unique_ptr<DenseNetwork> copy_of(const std::unique_ptr<DenseNetwork>& network) {
  if (!network) return nullptr;
  return std::make_unique<DenseNetwork>(network->record(), "network");
}

std::unique_ptr<FeatureNetwork> copy_of(const std::unique_ptr<FeatureNetwork>& features) {
  if (!features) return nullptr;
  SELFNORM_CHECK(!features->is_sealed());  // so that what is copied runs already
  return make_features(features->record(), EmbeddedCode::run);
}

// body(network) for those that are there, in the order of RegressorNetworks::parameters.
template <class Body>
void for_networks(RegressorNetworks& networks, const Body& body) {
  const auto visit = [&body](const auto&... each) { ((each ? body(*each) : void()), ...); };
  visit(networks.features, networks.tilt_features, networks.mixture_head, networks.context, networks.tilt,
        networks.normalizer);
}

// The bounds of coordinate j, in standardised units.
std::array<double, 2> bounds(const MixtureShape& shape, size_t j) {
  return {shape.lower.empty() ? -kInfinity : shape.lower[j],
          shape.upper.empty() ? kInfinity : shape.upper[j]};
}

// The float of [lower, upper] nearest to u.
float within(float u, double lower, double upper) {
  if (static_cast<double>(u) < lower) {
    u = static_cast<float>(lower);
    return static_cast<double>(u) < lower ? std::nextafter(u, HUGE_VALF) : u;
  }
  if (static_cast<double>(u) > upper) {
    u = static_cast<float>(upper);
    return static_cast<double>(u) > upper ? std::nextafter(u, -HUGE_VALF) : u;
  }
  return u;
}

constexpr size_t kPreparedValues = 4096;  // a unit of parallel work
// Of the mixture among the places when it is no base, only what the tilt was trained against.
constexpr double kProposalWeight = 0.5;

// A normal cut at a bound a distance D from its mean is nearly exponential there, of width scale^2 / D; it
// matters within about three times as many of its widths as a normal of its scales.
constexpr double kExponentialReach = 3;
void cut_place(double lower, double upper, double& mean, double& scale) {
  const double bound = std::clamp(mean, lower, upper), distance = std::abs(mean - bound);
  scale = std::min(scale, kExponentialReach * scale * (scale / distance));
  mean = bound;
}

// rows x width, as floats that live as long as this.
struct Rows {
  std::vector<float> values;
  uint32_t width = 0;

  Points view() const { return {values.data(), width == 0 ? 0 : values.size() / width, width}; }
};

Rows run(const FeatureNetwork& network, const InputRows& x) {
  Rows out{std::vector<float>(x.rows() * network.width()), network.width()};
  network.evaluate(x, out.values);
  return out;
}

Rows run(const DenseNetwork& network, const Rows& h) { return run(network, {h.view(), nullptr, 0}); }

std::unique_ptr<DensePass> pass_of(const std::unique_ptr<DenseNetwork>& network) {
  return network == nullptr ? nullptr : std::make_unique<DensePass>(*network);
}

MixtureShape tempered(MixtureShape shape, double temperature) {
  shape.spread = std::sqrt(temperature);
  return shape;
}

class RegressorScores final : public ConditionalScores {
 public:
  RegressorScores(const Regressor& model, const RegressorNetworks& member, const InputRows& x)
      : mixture_(tempered(model.mixture, member.temperature)),
        w_(model.base_weight()),
        cooling_(1 / member.temperature),
        tilt_(member.tilt.get()),
        rows_(x.rows()) {
    const Rows h = run(*member.features, x);
    parameters_ = run(*member.mixture_head, h);
    if (tilt_ == nullptr) return;
    const Rows own = member.tilt_features ? run(*member.tilt_features, x) : Rows();
    const Rows& of_tilt = member.tilt_features ? own : h;
    context_ = run(*member.context, of_tilt);
    if (member.normalizer) b_ = run(*member.normalizer, of_tilt).values;
  }

  uint64_t rows() const override { return rows_; }
  uint32_t dimension() const override { return mixture_.shape().dimension; }
  Support support() const override { return Support::box(mixture_.shape().lower, mixture_.shape().upper); }
  double normalizer(uint64_t row) const override { return b_.empty() ? 0 : static_cast<double>(b_[row]); }
  bool is_normalised() const override { return tilt_ == nullptr; }

  void score(const Points& y, std::span<const uint32_t> row, std::span<double> s) const override {
    base_log_prob(mixture_, w_, {parameters_.view(), y, row}, s);
    if (tilt_ == nullptr) return;
    std::vector<double> f(s.size());
    tilt_->score({context_.view(), y, row}, f);
    parallel_ranges(s.size(), kPreparedValues, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) s[i] += cooling_ * f[i];
    });
  }

  std::vector<Place> places(uint64_t row) const override {
    const MixtureShape& shape = mixture_.shape();
    const double broad = w_ == 1 ? kProposalWeight : w_;
    std::vector<Place> out;
    for (ConditionalMixture::Component& c : mixture_.components(parameters_.view().row(row))) {
      for (uint32_t j = 0; j < shape.dimension && !shape.lower.empty(); ++j)
        cut_place(shape.lower[j], shape.upper[j], c.mean[j], c.scale[j]);
      out.push_back({(1 - broad) * c.weight, std::move(c.mean), std::move(c.scale)});
    }
    if (broad > 0)
      out.push_back({broad, std::vector<double>(shape.dimension, shape.broad_mean),
                     std::vector<double>(shape.dimension, shape.broad_scale)});
    return out;
  }

 private:
  ConditionalMixture mixture_;
  double w_, cooling_;
  const ConditionalEnergy* tilt_;
  uint64_t rows_;
  Rows parameters_, context_;
  std::vector<float> b_;
};

}  // namespace

std::vector<std::span<float>> RegressorNetworks::parameters() {
  std::vector<std::span<float>> out;
  for_networks(*this, [&out](auto& network) { out.push_back(network.parameters()); });
  return out;
}

void RegressorNetworks::parameters_changed() {
  for_networks(*this, [](auto& network) { network.parameters_changed(); });
}

RegressorNetworks RegressorNetworks::copy() const {
  return {copy_of(features),
          copy_of(tilt_features),
          copy_of(mixture_head),
          copy_of(context),
          tilt ? make_conditional_mlp(tilt->record()) : nullptr,
          copy_of(normalizer),
          temperature};
}

RegressorNetworksPass::RegressorNetworksPass(const RegressorNetworks& networks)
    : networks_(networks),
      features_(networks.features->make_pass()),
      tilt_features_(networks.tilt_features ? networks.tilt_features->make_pass() : nullptr),
      mixture_head_(pass_of(networks.mixture_head)),
      context_head_(pass_of(networks.context)),
      normalizer_head_(pass_of(networks.normalizer)) {}

void RegressorNetworksPass::forward(const InputRows& x, bool with_tilt) {
  SELFNORM_CHECK(!with_tilt || context_head_ != nullptr);
  with_tilt_ = with_tilt;
  const Points h = features_->forward(x);
  mixture_ = mixture_head_->forward({h, nullptr, 0});
  d_mixture_.assign(mixture_.size(), 0);
  if (!with_tilt) return;
  const Points h_tilt = tilt_features_ ? tilt_features_->forward(x) : h;
  context_ = context_head_->forward({h_tilt, nullptr, 0});
  d_context_.assign(context_.size(), 0);
  b_.assign(x.rows(), 0);
  d_b_.assign(x.rows(), 0);
  if (normalizer_head_ == nullptr) return;
  const Points b = normalizer_head_->forward({h_tilt, nullptr, 0});
  std::copy_n(b.data, b.rows, b_.begin());
}

// The order of RegressorNetworks::parameters(): features, tilt_features, mixture_head, context, tilt,
// normalizer.
void RegressorNetworksPass::backward(const std::vector<std::span<float>>& gradient) {
  const uint64_t n = mixture_.rows;
  size_t at = 0;
  const std::span<float> features = gradient[at++];
  const std::span<float> tilt_features = tilt_features_ ? gradient[at++] : std::span<float>();
  dh_.resize(n * networks_.features->width());
  mixture_head_->backward(d_mixture_, gradient[at++], dh_);
  if (with_tilt_) {
    dh_tilt_.resize(n * (tilt_features_ ? networks_.tilt_features->width() : networks_.features->width()));
    context_head_->backward(d_context_, gradient[at++], dh_tilt_);
    ++at;  // the tilt, whose gradient the step has
    if (normalizer_head_ != nullptr) {
      d_b_float_.assign(d_b_.begin(), d_b_.end());
      normalizer_head_->backward(d_b_float_, gradient[at++], {});
    }
    if (tilt_features_)
      tilt_features_->backward(dh_tilt_, tilt_features);
    else
      for (size_t i = 0; i < dh_.size(); ++i) dh_[i] += dh_tilt_[i];
  }
  features_->backward(dh_, features);
}

double Regressor::log_volume() const {
  double sum = 0;
  for (const double scale : target_scale) sum += std::log(scale);
  return sum;
}

TargetReach Regressor::standardise(std::span<const double> y, std::span<float> u) const {
  std::array<float, 3> inside;
  bool is_far = false;
  for (size_t j = 0; j < y.size(); ++j) {
    const auto [lower, upper] = bounds(mixture, j);
    const double place = (y[j] - target_mean[j]) / target_scale[j];
    const double slack = kRounding * std::max(std::abs(y[j]), std::abs(target_mean[j])) / target_scale[j];
    if (!std::isfinite(y[j]) || place < lower - slack || place > upper + slack) return TargetReach::kOutside;
    is_far = is_far || std::abs(place) > kFarthestTarget;
    if (!is_far) inside[j] = within(static_cast<float>(place), lower, upper);
  }
  if (is_far) return TargetReach::kFar;
  std::copy_n(inside.begin(), y.size(), u.begin());
  return TargetReach::kInside;
}

void base_log_prob(const ConditionalMixture& mixture, double w, const MixturePoints& at,
                   std::span<double> log_prob) {
  if (w == 1) return mixture.log_prob(at, {}, log_prob);
  if (w == 0) return mixture.log_prob(at, log_prob, {});
  std::vector<double> log_g(log_prob.size());
  mixture.log_prob(at, log_prob, log_g);
  parallel_ranges(log_prob.size(), kScoredValues, [&](size_t begin, size_t end) {
    broaden(log_prob.subspan(begin, end - begin), std::span(log_g).subspan(begin, end - begin), w);
  });
}

std::unique_ptr<ConditionalScores> prepare_scores(const Regressor& model, const RegressorNetworks& member,
                                                  const InputRows& x) {
  SELFNORM_CHECK(x.number.columns == member.features->inputs());
  SELFNORM_CHECK(x.categorical == member.features->levels().size());
  return std::make_unique<RegressorScores>(model, member, x);
}

}  // namespace selfnorm
