// The native network held to libtorch: the same parameters, scores and derivatives by autograd.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "math/parallel.h"
#include "math/random.h"
#include "model/energy/density_file.h"
#include "model/energy/mlp.h"
#include "model/energy/torchscript.h"
#include "model/neural/module_file.h"
#include "proposal/density/make_density.h"
#include "selfnorm/error.h"

namespace selfnorm::test {
namespace {

constexpr uint32_t kColumns = 3;
constexpr uint64_t kRows = 300;

std::vector<float> normal_rows(uint64_t rows, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> out(rows * kColumns);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

class TorchEnergy : public ModuleFile {
 protected:
  // mlp.h as TorchScript, with its parameters in the same order.
  static torch::jit::Module network(const MlpOptions& options) {
    Parameters parameters;
    std::string source = "def forward(self, x):\n  a = x\n";
    int64_t inputs = kColumns;
    const auto weight = [&](const std::string& name, std::vector<int64_t> shape) {
      parameters.emplace_back(name, torch::ones(shape));
    };
    if (options.fourier > 0) {
      weight("B", {options.fourier, kColumns});
      source += "  p = torch.matmul(x, self.B.t())\n  a = torch.cat([x, torch.cos(p), torch.sin(p)], 1)\n";
      inputs += 2 * options.fourier;
    }
    const std::string f = options.activation;
    for (size_t l = 0; l < options.widths.size(); ++l) {
      const std::string w = "self.W" + std::to_string(l), c = "self.c" + std::to_string(l);
      weight("W" + std::to_string(l), {options.widths[l], inputs});
      weight("c" + std::to_string(l), {options.widths[l]});
      const std::string divided = options.spectral_norm ? w + " / torch.linalg_matrix_norm(" + w + ", 2)" : w;
      source += "  z = torch.matmul(a, (" + divided + ").t()) + " + c + "\n";
      const bool adds = options.residual && inputs == options.widths[l];
      source += std::string(adds ? "  a = a + " : "  a = ") + "torch." + f + "(z)\n";
      inputs = options.widths[l];
    }
    weight("w", {inputs});
    return module(parameters, source + "  return torch.matmul(a, self.w)\n");
  }

  std::pair<std::unique_ptr<Energy>, std::unique_ptr<Energy>> both(const MlpOptions& options) const {
    auto native = make_mlp(kColumns, options, 11);
    auto torch = load_torchscript(saved(network(options)), kColumns, EmbeddedCode::run);
    RandomStream random(12);
    for (float& theta : native->parameters()) theta += static_cast<float>(random.normal() / 8);
    EXPECT_EQ(native->parameters().size(), torch->parameters().size());
    std::copy(native->parameters().begin(), native->parameters().end(), torch->parameters().begin());
    native->parameters_changed();
    torch->parameters_changed();
    return {std::move(native), std::move(torch)};
  }
};

// |found - expected| relative to the largest number.
template <class T>
void expect_close(const std::vector<T>& found, const std::vector<T>& expected, double tolerance,
                  const char* what) {
  double largest = 1e-6;
  for (const T value : expected) largest = std::max(largest, std::abs(double{value}));
  double error = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double distance = std::abs(double{found[i]} - double{expected[i]});
    error = std::isnan(distance) ? INFINITY : std::max(error, distance);
  }
  EXPECT_LE(error, tolerance * largest) << what;
}

struct Derivatives {
  std::vector<double> s = std::vector<double>(kRows), first = s, second = s, from_pass;
  std::vector<float> dx = std::vector<float>(kRows * kColumns);
  std::vector<float> gradient, of_directional, of_first;

  explicit Derivatives(const Energy& energy) {
    const std::vector<float> rows = normal_rows(kRows, 13), directions = normal_rows(kRows, 14);
    const Points x{rows.data(), kRows, kColumns}, v{directions.data(), kRows, kColumns};
    std::vector<double> d(kRows), e(kRows);
    for (size_t i = 0; i < kRows; ++i) {
      d[i] = std::cos(static_cast<double>(i));
      e[i] = std::sin(static_cast<double>(3 * i));
    }
    gradient.resize(energy.parameters().size());
    of_first = of_directional = gradient;
    const auto pass = energy.make_pass();
    const std::span<const double> forward = pass->forward(x);
    from_pass.assign(forward.begin(), forward.end());
    pass->backward(d, gradient);
    energy.score(x, s);
    energy.score_gradient(x, s, dx);
    energy.directional(x, v, first, second);
    energy.directional_backward(x, v, d, e, of_directional);
    energy.directional_backward(x, v, d, {}, of_first);
  }
};

class Agreement : public TorchEnergy {
 protected:
  void check(const MlpOptions& options) const {
    const auto [native, torch] = both(options);
    const Derivatives a(*native), b(*torch);
    expect_close(a.s, b.s, 1e-5, "scores");
    expect_close(a.from_pass, b.from_pass, 1e-5, "scores of the pass");
    expect_close(a.dx, b.dx, 2e-5, "input gradients");
    expect_close(a.gradient, b.gradient, 2e-5, "parameter gradients");
    expect_close(a.first, b.first, 2e-5, "first derivatives");
    expect_close(a.second, b.second, 5e-5, "second derivatives");
    expect_close(a.of_first, b.of_first, 5e-5, "gradients of the first derivatives");
    expect_close(a.of_directional, b.of_directional, 1e-4, "gradients of both derivatives");
  }
};

class ActivationAgreement : public Agreement, public testing::WithParamInterface<const char*> {};

TEST_P(ActivationAgreement, PlainNetworks) { check({.widths = {16, 24}, .activation = GetParam()}); }
TEST_P(ActivationAgreement, ResidualFourierNetworks) {
  check(
      {.widths = {16, 16, 16}, .activation = GetParam(), .residual = true, .fourier = 5, .fourier_scale = 1});
}

INSTANTIATE_TEST_SUITE_P(Every, ActivationAgreement,
                         testing::Values("silu", "relu", "tanh", "softplus", "gelu"),
                         [](const auto& activation) { return std::string(activation.param); });

TEST_F(Agreement, SpectralNorm) { check({.widths = {8, 12}, .spectral_norm = true}); }
TEST_F(Agreement, SpectralNormAfterFourierFeatures) {
  check({.widths = {8, 8}, .residual = true, .spectral_norm = true, .fourier = 3, .fourier_scale = 1});
}
TEST_F(Agreement, OneNarrowLayer) { check({.widths = {1}}); }
TEST_F(Agreement, WideLayers) { check({.widths = {130, 67}, .activation = "tanh"}); }

TEST_F(TorchEnergy, BitsDoNotDependOnTheNumberOfThreads) {
  const auto energies = both({.widths = {32, 32}});
  const auto with = [&](int threads) {
    const ThreadLimit limit(threads);
    return Derivatives(*energies.second);
  };
  const Derivatives one = with(1), four = with(4), again = with(4);
  EXPECT_EQ(one.s, four.s);
  EXPECT_EQ(one.gradient, four.gradient);
  EXPECT_EQ(one.of_directional, four.of_directional);
  EXPECT_EQ(again.of_directional, four.of_directional);
}

TEST_F(TorchEnergy, TheRecordHoldsTheCurrentParameters) {
  const auto energy = both({.widths = {4}}).second;
  energy->parameters()[2] = 0.625f;
  energy->parameters_changed();
  const EnergyRecord record = energy->record();
  EXPECT_EQ(record.kind, "torchscript");
  const auto again = make_torchscript(record, EmbeddedCode::run);
  EXPECT_EQ(again->dimension(), kColumns);
  EXPECT_TRUE(std::ranges::equal(again->parameters(), energy->parameters()));
  EXPECT_EQ(Derivatives(*again).gradient, Derivatives(*energy).gradient);
  EXPECT_EQ(again->record().module, record.module);
}

TEST_F(TorchEnergy, IsStoredInTheFileOfADensity) {
  const std::vector<float> rows = normal_rows(100, 15);
  DensityModel model;
  model.energy = both({.widths = {4}}).second;
  model.proposal = fit_density("gaussian", {rows.data(), 100, kColumns});
  const std::string path = folder_ + "/model.safetensors";
  save_density(model, path);
  const DensityModel again = load_density(path, EmbeddedCode::run);
  EXPECT_EQ(Derivatives(*again.energy).s, Derivatives(*model.energy).s);
}

// forward writes where it likes as soon as the module is loaded, which is what consent is about.
TEST_F(TorchEnergy, AHostileModuleRunsWithConsentAlone) {
  const std::string trap = folder_ + "/trap";
  const auto hostile = module({{"w", torch::ones({kColumns})}},
                              "def forward(self, x):\n  t = torch.from_file('" + trap +
                                  "', True, 4)\n  return torch.matmul(x, self.w) + 0 * t.sum()\n");
  std::ostringstream bytes;
  hostile.save(bytes);
  const std::vector<float> rows = normal_rows(100, 15);
  DensityModel model;
  model.energy = make_torchscript(
      {.kind = "torchscript", .settings = R"({"dimension":3})", .tensors = {}, .module = bytes.str()},
      EmbeddedCode::seal);
  model.proposal = fit_density("gaussian", {rows.data(), 100, kColumns});
  const std::string path = folder_ + "/model.safetensors";
  save_density(model, path);
  EXPECT_THROW(load_density(path), Error);
  EXPECT_EQ(load_density(path, EmbeddedCode::seal).energy->record().module, bytes.str());
  EXPECT_FALSE(std::filesystem::exists(trap));
  load_density(path, EmbeddedCode::run);
  EXPECT_TRUE(std::filesystem::exists(trap));
}

TEST_F(TorchEnergy, DerivativesThatDoNotExistAreZero) {
  // Linear in x: no second derivative; the bias reaches no derivative by x; nothing reaches `unused`.
  const auto energy = load_torchscript(
      saved(module({{"w", torch::ones({kColumns})}, {"c", torch::ones({1})}, {"unused", torch::ones({2})}},
                   "def forward(self, x):\n  return torch.matmul(x, self.w) + self.c\n")),
      kColumns, EmbeddedCode::run);
  const Derivatives found(*energy);
  EXPECT_EQ(found.second, std::vector<double>(kRows));
  EXPECT_NE(found.gradient[3], 0);
  EXPECT_EQ(found.gradient[4], 0);
  EXPECT_NE(found.of_directional[0], 0);
  EXPECT_EQ(found.of_directional[3], 0);
}

TEST_F(TorchEnergy, AnEmptyBlockOfRowsIsNothing) {
  const auto energy = both({.widths = {4}}).second;
  const auto pass = energy->make_pass();
  EXPECT_TRUE(pass->forward({nullptr, 0, kColumns}).empty());
  std::vector<float> gradient(energy->parameters().size());
  pass->backward({}, gradient);
  EXPECT_EQ(gradient, std::vector<float>(gradient.size()));
}

}  // namespace
}  // namespace selfnorm::test
