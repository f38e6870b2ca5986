// The scores of regressor.h.
#include <algorithm>
#include <cmath>

#include "math/parallel.h"
#include "model/regressor/regressor.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

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

std::unique_ptr<ConditionalScores> prepare_scores(const Regressor& model, const RegressorNetworks& member,
                                                  const InputRows& x) {
  SELFNORM_CHECK(x.number.columns == member.features->inputs());
  SELFNORM_CHECK(x.categorical == member.features->levels().size());
  return std::make_unique<RegressorScores>(model, member, x);
}

}  // namespace selfnorm
