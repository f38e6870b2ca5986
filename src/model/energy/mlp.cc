// The network energy, of x alone and of y given a context: one network (network/network.h) with a score.
#include "model/energy/mlp.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "model/energy/conditional_energy.h"
#include "model/energy/record_reader.h"
#include "network/pass.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint32_t kMostMlpInputs = 0xFFFFFFFF;

NetworkPlan mlp_plan(uint32_t dimension, const MlpOptions& options) {
  require_range(dimension >= 1, "dimension", dimension, "at least 1");
  options.validate();
  return {.inputs = dimension,
          .fourier = options.fourier,
          .levels = {},
          .widths = options.widths,
          .activation = activation_of(options.activation),
          .is_residual = options.residual,
          .is_spectral = options.spectral_norm,
          .activates_output = true,
          .has_score = true};
}

struct MlpNetwork : Network {
  MlpNetwork(uint32_t dimension, const MlpOptions& o) : Network(mlp_plan(dimension, o)), options(o) {}

  EnergyRecord record() const {
    EnergyRecord out;
    out.kind = "mlp";
    out.settings = nlohmann::json{{"dimension", shape.inputs},
                                  {"widths", options.widths},
                                  {"activation", options.activation},
                                  {"residual", options.residual},
                                  {"spectral_norm", options.spectral_norm},
                                  {"fourier", options.fourier},
                                  {"fourier_scale", options.fourier_scale}}
                       .dump();
    for (const NetworkTensor& t : shape.tensors())
      out.tensors.push_back({t.name, t.sizes, {&theta[t.begin], &theta[t.begin] + t.count}});
    return out;
  }

  MlpOptions options;
};

using MlpPointer = std::unique_ptr<MlpNetwork>;

MlpPointer mlp_network(uint32_t dimension, const MlpOptions& options, uint64_t seed) {
  auto network = std::make_unique<MlpNetwork>(dimension, options);
  const NetworkShape& shape = network->shape;
  RandomStream random(seed);
  network->draw(random, 0, size_t{shape.fourier} * dimension, options.fourier_scale);
  for (const NetworkLayer& layer : shape.layers)
    network->draw(random, layer.weight, layer.size(), std::sqrt(2.0 / layer.in));
  network->draw(random, shape.output, shape.width(), 0.1 / std::sqrt(shape.width()));
  network->pack();
  return network;
}

MlpPointer mlp_network(const EnergyRecord& record) {
  const RecordReader reader(record, "network energy", "mlp");
  MlpOptions options;
  options.widths = reader.whole_numbers("widths", 1, 4096);
  options.activation = reader.word("activation");
  options.residual = reader.flag("residual");
  options.spectral_norm = reader.flag("spectral_norm");
  options.fourier = reader.whole_number("fourier", 0, 4096);
  options.fourier_scale = reader.number("fourier_scale");
  const uint32_t dimension = reader.whole_number("dimension", 1, kMostMlpInputs);
  reader.expect_values(NetworkShape(mlp_plan(dimension, options)).parameters);
  auto network = std::make_unique<MlpNetwork>(dimension, options);
  for (const NetworkTensor& t : network->shape.tensors())
    reader.read(t.name, t.sizes, std::span(network->theta).subspan(t.begin, t.count));
  network->pack();
  return network;
}

constexpr uint64_t kSpreadStream = 0x5B2E;
constexpr double kSlope = 3, kReach = 2;

// W_1 ~ N(0, kSlope^2 / d) on y, and c_1 = -W_1 t with t ~ U(-kReach, kReach): units that bend somewhere
// among standardised y, steeply enough for densities narrower than those.
void spread_first_layer(RandomStream random, Network& network) {
  const NetworkLayer& layer = network.shape.layers[0];
  const uint32_t d = network.shape.inputs;
  for (uint32_t i = 0; i < layer.out; ++i) {
    double bend = 0;
    for (uint32_t j = 0; j < d; ++j) {
      const double w = kSlope / std::sqrt(d) * random.normal();
      network.theta[layer.weight + size_t{i} * layer.in + j] = static_cast<float>(w);
      bend += w * kReach * (2 * random.uniform() - 1);
    }
    network.theta[layer.bias + i] = static_cast<float>(-bend);
  }
}

NetworkRows rows_of(const Points& x) { return x; }
NetworkRows rows_of(const ConditionalPoints& at) {
  SELFNORM_CHECK(at.row.size() == at.y.rows);
  static constexpr uint32_t kNone = 0;  // so that no rows have contexts, too
  return {at.y, at.context, at.row.empty() ? &kNone : at.row.data()};
}

// What an energy of x alone and one of y given a context are both; At: where it is evaluated.
template <class Base, class At>
class MlpOf : public Base {
 public:
  explicit MlpOf(MlpPointer network) : network_(std::move(network)) {}

  uint32_t dimension() const override { return network_->shape.inputs; }
  std::span<float> parameters() override { return network_->theta; }
  std::span<const float> parameters() const override { return network_->theta; }
  void parameters_changed() override { network_->pack(); }
  EnergyRecord record() const override { return network_->record(); }
  void score(const At& at, std::span<double> s) const override { evaluate(*network_, rows_of(at), s); }
  void score_gradient(const At& at, std::span<double> s, std::span<float> dx) const override {
    selfnorm::score_gradient(*network_, rows_of(at), s, dx);
  }
  void directional(const At& at, const Points& v, std::span<double> first,
                   std::span<double> second) const override {
    selfnorm::directional(*network_, rows_of(at), v, first, second);
  }

 protected:
  MlpPointer network_;
};

class MlpPass final : public EnergyPass {
 public:
  explicit MlpPass(const Network& network) : pass_(network) {}

  std::span<const double> forward(const Points& x) override { return pass_.forward(x); }
  void backward(std::span<const double> d, std::span<float> gradient) override {
    pass_.backward(d, gradient, {});
  }

 private:
  NetworkPass<double> pass_;
};

class MlpEnergy final : public MlpOf<Energy, Points> {
 public:
  using MlpOf::MlpOf;

  std::unique_ptr<EnergyPass> make_pass() const override { return std::make_unique<MlpPass>(*network_); }
  void directional_backward(const Points& x, const Points& v, std::span<const double> d_first,
                            std::span<const double> d_second, std::span<float> gradient) const override {
    selfnorm::directional_backward(*network_, x, v, {d_first, d_second, gradient, {}});
  }
};

class ConditionalMlpPass final : public ConditionalPass {
 public:
  explicit ConditionalMlpPass(const Network& network) : pass_(network) {}

  std::span<const double> forward(const ConditionalPoints& at) override { return pass_.forward(rows_of(at)); }
  void backward(std::span<const double> d, std::span<float> gradient, std::span<float> d_context) override {
    pass_.backward(d, gradient, d_context);
  }

 private:
  NetworkPass<double> pass_;
};

class ConditionalMlp final : public MlpOf<ConditionalEnergy, ConditionalPoints> {
 public:
  using MlpOf::MlpOf;

  uint32_t context_width() const override { return network_->shape.width(1); }
  std::unique_ptr<ConditionalPass> make_pass() const override {
    return std::make_unique<ConditionalMlpPass>(*network_);
  }
  void directional_backward(const ConditionalPoints& at, const Points& v, std::span<const double> d_first,
                            std::span<const double> d_second, std::span<float> gradient,
                            std::span<float> d_context) const override {
    selfnorm::directional_backward(*network_, rows_of(at), v, {d_first, d_second, gradient, d_context});
  }
};

}  // namespace

void MlpOptions::validate() const {
  require_range(!widths.empty() && widths.size() <= 16, "number of hidden layers",
                static_cast<double>(widths.size()), "1 to 16");
  for (const uint32_t w : widths)
    require_range(w >= 1 && w <= 4096, "width of a hidden layer", w, "1 to 4096");
  require_one_of("activation", activation, activation_names());
  require_range(fourier <= 4096, "number of Fourier features", fourier, "0 to 4096");
  require_range(fourier_scale > 0, "fourier_scale", fourier_scale, "a number > 0");
}

std::unique_ptr<Energy> make_mlp(uint32_t dimension, const MlpOptions& options, uint64_t seed) {
  return std::make_unique<MlpEnergy>(mlp_network(dimension, options, seed));
}

std::unique_ptr<Energy> make_mlp(const EnergyRecord& record) {
  return std::make_unique<MlpEnergy>(mlp_network(record));
}

std::unique_ptr<ConditionalEnergy> make_conditional_mlp(uint32_t dimension, const MlpOptions& options,
                                                        uint64_t seed, bool starts_at_zero) {
  MlpPointer network = mlp_network(dimension, options, seed);
  spread_first_layer(RandomStream(seed, kSpreadStream), *network);
  if (starts_at_zero) std::fill_n(&network->theta[network->shape.output], network->shape.width(), 0.0f);
  network->pack();
  return std::make_unique<ConditionalMlp>(std::move(network));
}

std::unique_ptr<ConditionalEnergy> make_conditional_mlp(const EnergyRecord& record) {
  return std::make_unique<ConditionalMlp>(mlp_network(record));
}

}  // namespace selfnorm
