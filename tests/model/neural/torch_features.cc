// Features of modules: held to the native network with the same parameters, and what is said about modules
// that are none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "math/parallel.h"
#include "math/random.h"
#include "model/network/dense_network.h"
#include "model/neural/module_file.h"
#include "selfnorm/error.h"

namespace selfnorm::test {
namespace {

constexpr uint32_t kInputs = 3, kHidden = 6, kWidth = 4;
constexpr uint64_t kFeatureRows = 700;

std::vector<float> normals(size_t n, uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(random.normal());
  return out;
}

InputRows rows_of(const std::vector<float>& x, uint32_t columns) {
  return {{x.data(), x.size() / columns, columns}, nullptr, 0};
}

std::vector<float> evaluated(const FeatureNetwork& features, const std::vector<float>& x, uint32_t columns) {
  std::vector<float> h(x.size() / columns * features.width());
  features.evaluate(rows_of(x, columns), h);
  return h;
}

void expect_close(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << i;
}

class TorchFeatures : public ModuleFile {
 protected:
  // dense_network.h as TorchScript, with its parameters in the same order.
  static torch::jit::Module network() {
    return module({{"W1", torch::ones({kHidden, kInputs})},
                   {"c1", torch::ones({kHidden})},
                   {"W2", torch::ones({kWidth, kHidden})},
                   {"c2", torch::ones({kWidth})}},
                  "def forward(self, x):\n"
                  "  a = torch.silu(torch.matmul(x, self.W1.t()) + self.c1)\n"
                  "  return torch.silu(torch.matmul(a, self.W2.t()) + self.c2)\n");
  }
  static torch::jit::Module forward(const std::string& result) {
    return module({{"w", torch::ones({2})}}, "def forward(self, x):\n  return " + result + "\n");
  }

  std::string error_of(const std::string& path, uint32_t inputs = 2) const {
    try {
      load_module_features(path, inputs, EmbeddedCode::run);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  void expect_refused(const torch::jit::Module& module, const char* message, uint32_t inputs = 2) const {
    const std::string error = error_of(saved(module), inputs);
    EXPECT_TRUE(error.starts_with(path_ + ": ")) << error;
    EXPECT_NE(error.find(message), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
};

TEST_F(TorchFeatures, AgreeWithTheNativeNetwork) {
  DenseShape shape;
  shape.inputs = kInputs;
  shape.widths = {kHidden, kWidth};
  const auto native = make_dense_features(shape, 3);
  const auto torch = load_module_features(saved(network()), kInputs, EmbeddedCode::run);
  ASSERT_EQ(torch->width(), kWidth);
  EXPECT_EQ(torch->inputs(), kInputs);
  EXPECT_TRUE(torch->levels().empty());
  ASSERT_EQ(torch->parameters().size(), native->parameters().size());
  std::copy(native->parameters().begin(), native->parameters().end(), torch->parameters().begin());
  torch->parameters_changed();
  torch->set_unseen({});

  const std::vector<float> x = normals(kFeatureRows * kInputs, 4), d = normals(kFeatureRows * kWidth, 5);
  expect_close(evaluated(*torch, x, kInputs), evaluated(*native, x, kInputs));
  std::vector<float> found(native->parameters().size(), 1.0f), expected = found;
  for (const auto& [features, gradient] : {std::pair{&torch, &found}, std::pair{&native, &expected}}) {
    const auto pass = (*features)->make_pass();
    const Points h = pass->forward(rows_of(x, kInputs));
    EXPECT_EQ(h.columns, kWidth);
    EXPECT_EQ(std::vector<float>(h.data, h.data + h.size()), evaluated(**features, x, kInputs));
    pass->backward(d, *gradient);
  }
  expect_close(found, expected);
}

TEST_F(TorchFeatures, BitsDoNotDependOnTheNumberOfThreads) {
  const auto features = load_module_features(saved(network()), kInputs, EmbeddedCode::run);
  const std::vector<float> x = normals(kFeatureRows * kInputs, 6), d = normals(kFeatureRows * kWidth, 7);
  const auto run = [&](int threads) {
    const ThreadLimit limit(threads);
    const auto pass = features->make_pass();
    pass->forward(rows_of(x, kInputs));
    std::vector<float> gradient(features->parameters().size());
    pass->backward(d, gradient);
    return std::pair(evaluated(*features, x, kInputs), gradient);
  };
  EXPECT_EQ(run(1), run(4));
}

TEST_F(TorchFeatures, TheRecordHoldsTheCurrentParameters) {
  const auto features = load_module_features(saved(network()), kInputs, EmbeddedCode::run);
  features->parameters()[2] = 0.625f;
  features->parameters_changed();
  const EnergyRecord record = features->record();
  EXPECT_EQ(record.kind, "torchscript");
  const auto again = make_features(record, EmbeddedCode::run);
  EXPECT_TRUE(std::ranges::equal(again->parameters(), features->parameters()));
  const std::vector<float> x = normals(5 * kInputs, 8);
  EXPECT_EQ(evaluated(*again, x, kInputs), evaluated(*features, x, kInputs));
  EnergyRecord bad = record;
  bad.module.resize(bad.module.size() / 2);
  EXPECT_THROW(make_features(bad, EmbeddedCode::run), Error);
  bad = record;
  bad.settings = R"({"inputs":5})";
  EXPECT_THROW(make_features(bad, EmbeddedCode::run), Error);
}

TEST_F(TorchFeatures, AModuleWithoutParametersIsUsedAsItIs) {
  const auto features = load_module_features(
      saved(module({}, "def forward(self, x):\n  return torch.cat([x, x * x], 1)\n")), 2, EmbeddedCode::run);
  EXPECT_EQ(features->width(), 4u);
  EXPECT_TRUE(features->parameters().empty());
  EXPECT_EQ(evaluated(*features, {1, 2, 3, 4}, 2), (std::vector<float>{1, 2, 1, 4, 3, 4, 9, 16}));
  const std::vector<float> x = {1, 2};
  const auto pass = features->make_pass();
  pass->forward(rows_of(x, 2));
  pass->backward(std::vector<float>(4, 1.0f), {});
  const auto again = make_features(features->record(), EmbeddedCode::run);
  EXPECT_EQ(evaluated(*again, x, 2), (std::vector<float>{1, 2, 1, 4}));
}

TEST_F(TorchFeatures, ParametersThatReachNothingHaveNoGradient) {
  const auto features =
      load_module_features(saved(module({{"unused", torch::ones({2})}, {"w", torch::ones({2})}},
                                        "def forward(self, x):\n  return x * self.w\n")),
                           2, EmbeddedCode::run);
  const std::vector<float> x = {1, 2, 3, 4};
  const auto pass = features->make_pass();
  pass->forward(rows_of(x, 2));
  std::vector<float> gradient(4);
  pass->backward(std::vector<float>{1, 1, 1, 10}, gradient);
  EXPECT_EQ(gradient, (std::vector<float>{0, 0, 4, 42}));
}

TEST_F(TorchFeatures, AnEmptyBlockOfRowsIsNothing) {
  const auto features = load_module_features(saved(network()), kInputs, EmbeddedCode::run);
  const auto pass = features->make_pass();
  EXPECT_EQ(pass->forward({{nullptr, 0, kInputs}, nullptr, 0}).rows, 0u);
  std::vector<float> gradient(features->parameters().size());
  pass->backward({}, gradient);
  EXPECT_EQ(gradient, std::vector<float>(gradient.size()));
}

TEST_F(TorchFeatures, OtherFilesAreRefused) {
  EXPECT_NE(error_of(folder_ + "/absent.pt").find("absent.pt"), std::string::npos);
  std::ofstream(path_) << "x,y\n1,2\n";
  EXPECT_NE(error_of(path_).find("not a TorchScript module"), std::string::npos) << error_of(path_);
}

TEST_F(TorchFeatures, ModulesThatAreNoFeaturesAreRefused) {
  expect_refused(forward("x * self.w"), "fails on 3 x 5 float32: ", 5);
  expect_refused(forward("torch.matmul(x, self.w)"), "maps [3, 2] to [3] of Float, expected n x width");
  expect_refused(forward("(x * self.w).unsqueeze(0)"), "maps [3, 2] to [1, 3, 2]");
  expect_refused(forward("(x * self.w).t()"), "maps [3, 2] to [2, 3]");
  expect_refused(forward("(x * self.w)[:, :0]"), "maps [3, 2] to [3, 0]");
  expect_refused(forward("x * self.w > 0"), "of Bool");
  expect_refused(forward("[x, self.w]"), "expected a tensor of n x width");
  expect_refused(forward("torch.log(x * self.w * 0 - 1)"), "NaN or infinite");
  expect_refused(forward("x * self.w / 0"), "NaN or infinite");
  expect_refused(forward("(x - x.mean(0)) * self.w"), "among others");
  expect_refused(module({}, "def features(self, x):\n  return x\n"), "no forward");
}

TEST_F(TorchFeatures, CategoricalInputsAreRefused) {
  const auto features = load_module_features(saved(forward("x * self.w")), 2, EmbeddedCode::run);
  const std::vector<float> x = {1, 2};
  const uint32_t level = 1;
  std::vector<float> h(2);
  EXPECT_THROW(features->evaluate({{x.data(), 1, 2}, &level, 1}, h), Error);
  EXPECT_THROW(features->make_pass()->forward({{x.data(), 1, 2}, &level, 1}), Error);
}

TEST_F(TorchFeatures, AnotherWidthInALaterCallIsAnError) {
  const auto features = load_module_features(saved(module({{"w", torch::ones({2})}},
                                                          "def forward(self, x):\n"
                                                          "  y = x * self.w\n"
                                                          "  if x.size(0) > 3:\n"
                                                          "    y = torch.cat([y, y], 1)\n"
                                                          "  return y\n")),
                                             2, EmbeddedCode::run);
  const std::vector<float> x(8);
  std::vector<float> h(8);
  try {
    features->evaluate(rows_of(x, 2), h);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("expected 2 features"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace selfnorm::test
