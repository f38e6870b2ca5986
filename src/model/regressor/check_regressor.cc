#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "selfnorm/base/error.h"
#include "selfnorm/base/range.h"
#include "selfnorm/model/model_file.h"
#include "stored_regressor.h"

namespace selfnorm {
namespace {

class Check {
 public:
  Check(const Regressor& model, const std::string& file) : model_(model), file_(file) {}

  void numbers() const {
    const uint32_t d = model_.dimension();
    require(d >= 1 && d <= kMostDimensions,
            fmt::format("targets of {} dimensions, expected 1 to {}", d, kMostDimensions));
    require(model_.mixture.components >= 1 && model_.mixture.components <= kMostComponents,
            fmt::format("{} components, expected 1 to {}", model_.mixture.components, kMostComponents));
    const ConditionalMixture mixture(model_.mixture);
    require(model_.targets.size() == d && model_.target_mean.size() == d && model_.target_scale.size() == d,
            fmt::format("{} names, {} means and {} scales of targets, expected {}", model_.targets.size(),
                        model_.target_mean.size(), model_.target_scale.size(), d));
    for (uint32_t j = 0; j < d; ++j) {
      const double mean = model_.target_mean[j], scale = model_.target_scale[j];
      require(std::isfinite(mean) && std::isfinite(scale) && scale > 0,
              fmt::format("standardisation of target {} by mean {} and scale {}; expected finite numbers and "
                          "a scale > 0",
                          j, mean, scale));
    }
    require_range(model_.tail_weight >= 0 && model_.tail_weight < 1, "tail_weight", model_.tail_weight,
                  "0 <= x < 1");
    require_one_of("normalizer", model_.normalizer_kind, {"learned", "fitted", "zero", "estimated"});
    check_metadata_json(file_, "objective", model_.objective_json);
    check_metadata_json(file_, "training", model_.training_json);
    check_metadata_json(file_, "audit", model_.audit_json);
  }

  void members() const {
    const size_t n = model_.members.size();
    require(n >= 1 && n <= kMostMembers, fmt::format("{} members, expected 1 to {}", n, kMostMembers));
    for (const RegressorNetworks& member : model_.members) networks(member);
  }

 private:
  void require(bool good, const std::string& what) const {
    if (!good) throw Error(file_ + ": " + what);
  }

  void finite(const char* name, std::span<const float> theta) const {
    require(std::all_of(theta.begin(), theta.end(), [](float v) { return std::isfinite(v); }),
            fmt::format("a parameter of the network '{}' is not finite", name));
  }

  void features(const char* name, const FeatureNetwork& network) const {
    require(
        network.inputs() == model_.encoder.numeric_inputs() && network.levels() == model_.encoder.levels(),
        fmt::format("the network '{}' takes {} numeric and {} categorical inputs, but the encoder gives "
                    "{} and {}, or their levels differ",
                    name, network.inputs(), network.levels().size(), model_.encoder.numeric_inputs(),
                    model_.encoder.levels().size()));
    finite(name, network.parameters());
  }

  void head(const char* name, const DenseNetwork& network, uint32_t inputs, uint32_t outputs) const {
    const DenseShape& shape = network.shape();
    require(shape.inputs == inputs && shape.levels.empty() && network.outputs() == outputs,
            fmt::format("the network '{}' maps {} numeric and {} categorical inputs to {} outputs, expected "
                        "{}, 0 and {}",
                        name, shape.inputs, shape.levels.size(), network.outputs(), inputs, outputs));
    finite(name, network.parameters());
  }

  void networks(const RegressorNetworks& m) const {
    require(m.features != nullptr && m.mixture_head != nullptr,
            "a member has no features or no mixture head, expected both");
    features("features", std::as_const(*m.features));
    head("mixture_head", std::as_const(*m.mixture_head), m.features->width(), model_.mixture.parameters());
    require((m.tilt != nullptr) == (m.context != nullptr),
            "a member has one of tilt and context, expected "
            "both or neither");
    if (m.tilt == nullptr) {
      require(!m.tilt_features && !m.normalizer,
              "a member without a tilt has features or a normalizer of it, expected none");
      return;
    }
    if (m.tilt_features) features("tilt_features", std::as_const(*m.tilt_features));
    const uint32_t width = m.tilt_features ? m.tilt_features->width() : m.features->width();
    require(
        m.tilt->dimension() == model_.dimension(),
        fmt::format("the tilt takes {} dimensions, expected {}", m.tilt->dimension(), model_.dimension()));
    head("context", std::as_const(*m.context), width, m.tilt->context_width());
    finite("tilt", std::as_const(*m.tilt).parameters());
    if (m.normalizer) head("normalizer", std::as_const(*m.normalizer), width, 1);
  }

  const Regressor& model_;
  const std::string& file_;
};

}  // namespace

void check_regressor(const Regressor& model, const std::string& file) {
  const Check check(model, file);
  check.numbers();
  check.members();
}

}  // namespace selfnorm
