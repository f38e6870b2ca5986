// What modules may be, and what is said about those that are not.
#include <gtest/gtest.h>

#include <fstream>

#include "model/energy/torchscript.h"
#include "model/neural/module_file.h"
#include "selfnorm/error.h"

namespace selfnorm::test {
namespace {

class TorchModule : public ModuleFile {
 protected:
  static Parameters weights() { return {{"w", torch::ones({2})}}; }

  std::string error_of(const std::string& path, uint32_t dimension = 2) const {
    try {
      load_torchscript(path, dimension, EmbeddedCode::run);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  void expect_refused(const torch::jit::Module& module, const char* message, uint32_t dimension = 2) const {
    const std::string error = error_of(saved(module), dimension);
    EXPECT_TRUE(error.starts_with(path_ + ": ")) << error;
    EXPECT_NE(error.find(message), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }

  std::vector<double> scores(const Energy& energy, const std::vector<float>& x) const {
    std::vector<double> out(x.size() / 2);
    energy.score({x.data(), out.size(), 2}, out);
    return out;
  }
};

TEST_F(TorchModule, ColumnsOfScoresAndDoublePrecisionAreTaken) {
  const auto column = load_torchscript(
      saved(module(weights(), "def forward(self, x):\n  return torch.matmul(x, self.w).unsqueeze(1)\n")), 2,
      EmbeddedCode::run);
  EXPECT_EQ(scores(*column, {1, 2, 3, 5}), (std::vector<double>{3, 8}));
  const auto doubles =
      load_torchscript(saved(module({{"w", torch::ones({2}, torch::kDouble)}},
                                    "def forward(self, x):\n  return torch.matmul(x, self.w)\n")),
                       2, EmbeddedCode::run);
  EXPECT_EQ(scores(*doubles, {1, 2, 3, 5}), (std::vector<double>{3, 8}));
}

TEST_F(TorchModule, FrozenParametersAndBuffersAreConstants) {
  torch::jit::Module mixed = module(weights(), "");
  mixed.register_parameter("frozen", torch::full({1}, 7.0), false);
  mixed.register_buffer("shift", torch::full({1}, 10.0));
  mixed.define("def forward(self, x):\n  return torch.matmul(x, self.w) + self.frozen + self.shift\n");
  const auto energy = load_torchscript(saved(mixed), 2, EmbeddedCode::run);
  EXPECT_EQ(energy->parameters().size(), 2u);
  EXPECT_EQ(scores(*energy, {1, 2}), std::vector<double>{20});
  energy->parameters()[0] = 3;
  energy->parameters_changed();
  EXPECT_EQ(scores(*energy, {1, 2}), std::vector<double>{22});
}

TEST_F(TorchModule, DropoutIsOff) {
  torch::jit::Module dropout = module(weights(), "");
  dropout.register_attribute("training", c10::BoolType::get(), true);
  dropout.define(
      "def forward(self, x):\n  return torch.matmul(torch.dropout(x, 0.5, self.training), self.w)\n");
  const auto energy = load_torchscript(saved(dropout), 2, EmbeddedCode::run);
  EXPECT_EQ(scores(*energy, {1, 2, 3, 5}), (std::vector<double>{3, 8}));
}

TEST_F(TorchModule, OtherFilesAreRefused) {
  EXPECT_NE(error_of(folder_ + "/absent.pt").find("absent.pt"), std::string::npos);
  std::ofstream(path_) << "x,y\n1,2\n";
  EXPECT_NE(error_of(path_).find("not a TorchScript module"), std::string::npos) << error_of(path_);
  std::ofstream(path_, std::ios::trunc).flush();
  EXPECT_NE(error_of(path_).find("not a TorchScript module"), std::string::npos) << error_of(path_);
  const std::string good =
      saved(module(weights(), "def forward(self, x):\n  return torch.matmul(x, self.w)\n"));
  std::filesystem::resize_file(good, std::filesystem::file_size(good) / 2);
  EXPECT_NE(error_of(good).find("not a TorchScript module"), std::string::npos) << error_of(good);
}

TEST_F(TorchModule, ModulesThatAreNoEnergiesAreRefused) {
  const auto forward = [](const std::string& result) {
    return module(weights(), "def forward(self, x):\n  return " + result + "\n");
  };
  expect_refused(forward("torch.matmul(x, self.w)"), "fails on 3 x 5 float32: ", 5);
  expect_refused(forward("x * self.w"), "maps [3, 2] to [3, 2]");
  expect_refused(forward("(x * self.w).sum()"), "maps [3, 2] to []");
  expect_refused(forward("(torch.matmul(x, self.w) > 0)"), "of Bool");
  expect_refused(forward("[x, self.w]"), "expected a tensor");
  expect_refused(forward("torch.log(torch.matmul(x, self.w) * 0 - 1)"), "NaN");
  expect_refused(forward("torch.matmul(x - x.mean(0), self.w)"), "among others");
  expect_refused(module({}, "def forward(self, x):\n  return x.sum(1)\n"), "no parameters");
  expect_refused(module(weights(), "def scores(self, x):\n  return torch.matmul(x, self.w)\n"), "no forward");
  expect_refused(module(weights(), "def forward(self, x, y):\n  return torch.matmul(x, self.w)\n"), "y");
}

TEST_F(TorchModule, ErrorsOfLaterCallsAreErrorsToo) {
  // Fails on the first call with more rows than the check on loading uses.
  const auto energy = load_torchscript(saved(module(weights(),
                                                    "def forward(self, x):\n"
                                                    "  if x.size(0) > 10:\n"
                                                    "    x = x.reshape([1, 1])\n"
                                                    "  return torch.matmul(x, self.w)\n")),
                                       2, EmbeddedCode::run);
  const std::vector<float> x(40);
  try {
    scores(*energy, x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'[1, 1]' is invalid"), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

TEST_F(TorchModule, DamagedRecordsAreRefused) {
  const auto energy =
      load_torchscript(saved(module(weights(), "def forward(self, x):\n  return torch.matmul(x, self.w)\n")),
                       2, EmbeddedCode::run);
  const EnergyRecord good = energy->record();
  EnergyRecord bad = good;
  for (const char* settings : {"", "{}", "[]", R"({"dimension":0})", R"({"dimension":"2"})",
                               R"({"dimension":4294967296})", R"({"dimension":3})"}) {
    bad.settings = settings;
    EXPECT_THROW(make_torchscript(bad, EmbeddedCode::run), Error) << settings;
  }
  bad = good;
  bad.module.resize(bad.module.size() / 2);
  EXPECT_THROW(make_torchscript(bad, EmbeddedCode::run), Error);
  bad.module.clear();
  EXPECT_THROW(make_torchscript(bad, EmbeddedCode::run), Error);
}

}  // namespace
}  // namespace selfnorm::test
