#include "model/network/feature_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "model/network/dense_network.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// 2 numbers, categorical inputs of 3 and 2 levels.
const EncodedFrame kRows{
    .rows = 3, .numeric = 2, .categorical = 2, .number = {1, 2, 3, 4, 5, 6}, .level = {1, 0, 2, 1, 0, 1}};

DenseShape shape_of(std::vector<uint32_t> widths) {
  DenseShape shape;
  shape.inputs = 2;
  shape.levels = {3, 2};
  shape.widths = std::move(widths);
  return shape;
}

std::vector<float> evaluated(const FeatureNetwork& features, const EncodedFrame& x) {
  std::vector<float> h(x.rows * features.width());
  features.evaluate(x.view(), h);
  return h;
}

std::vector<float> forward(FeaturePass& pass, const EncodedFrame& x) {
  const Points h = pass.forward(x.view());
  return {h.data, h.data + h.size()};
}

TEST(FeatureNetwork, DenseFeaturesAreADenseNetworkWithActivatedOutput) {
  DenseShape shape = shape_of({4, 3});
  const auto features = make_dense_features(shape, 5);
  shape.activates_output = true;
  DenseNetwork network(shape, 5);
  EXPECT_EQ(features->width(), 3u);
  EXPECT_TRUE(std::ranges::equal(features->parameters(), network.parameters()));
  std::vector<float> expected(9);
  network.evaluate(kRows.view(), expected);
  EXPECT_EQ(evaluated(*features, kRows), expected);
  const auto pass = features->make_pass();
  EXPECT_EQ(forward(*pass, kRows), expected);

  std::vector<float> gradient(network.parameters().size()), wanted(network.parameters().size());
  pass->backward(expected, gradient);
  DensePass dense(network);
  dense.forward(kRows.view());
  dense.backward(expected, wanted, {});
  EXPECT_EQ(gradient, wanted);

  const std::vector<std::vector<uint64_t>> count = {{0, 3, 1}, {0, 2}};
  features->set_unseen(count);
  network.set_unseen(count);
  EXPECT_TRUE(std::ranges::equal(features->parameters(), network.parameters()));
  features->parameters()[0] += 1;
  features->parameters_changed();
  EXPECT_NE(evaluated(*features, kRows), expected);
}

TEST(FeatureNetwork, WithoutWidthsLevelsAreUnitVectors) {
  const auto features = make_dense_features(shape_of({}), 1);
  EXPECT_EQ(features->width(), 5u);
  EXPECT_TRUE(features->parameters().empty());
  const std::vector<float> before = {1, 2, 1, 0, 0, /**/ 3, 4, 0, 1, 1, /**/ 5, 6, 0, 0, 1};
  EXPECT_EQ(evaluated(*features, kRows), before);
  features->set_unseen({{9, 1, 3}, {0, 0}});
  const std::vector<float> after = {1, 2, 1, 0, 0, /**/ 3, 4, 0, 1, 1, /**/ 5, 6, 0.25f, 0.75f, 1};
  EXPECT_EQ(evaluated(*features, kRows), after);
  const auto pass = features->make_pass();
  EXPECT_EQ(forward(*pass, kRows), after);
  pass->backward(after, {});
  EXPECT_THROW(pass->backward(std::span(after).first(3), {}), Bug);
  EncodedFrame bad = kRows;
  bad.level[0] = 3;
  EXPECT_THROW(evaluated(*features, bad), Bug);
  EXPECT_THROW(features->set_unseen({{0, 1, 1}}), Bug);
}

TEST(FeatureNetwork, WithoutInputsThereAreRowsOfNothing) {
  const auto features = make_dense_features(DenseShape(), 1);
  EXPECT_EQ(features->width(), 0u);
  const EncodedFrame x{.rows = 3, .numeric = 0, .categorical = 0, .number = {}, .level = {}};
  EXPECT_EQ(features->make_pass()->forward(x.view()).rows, 3u);
}

TEST(FeatureNetwork, RecordsComeBackBitForBit) {
  for (const auto& widths : {std::vector<uint32_t>{4, 3}, {}}) {
    const auto features = make_dense_features(shape_of(widths), 5);
    features->set_unseen({{0, 1, 2}, {0, 5}});
    const auto again = make_features(features->record());
    EXPECT_EQ(again->inputs(), 2u);
    EXPECT_EQ(again->levels(), (std::vector<uint32_t>{3, 2}));
    EXPECT_EQ(again->width(), features->width());
    EXPECT_TRUE(std::ranges::equal(again->parameters(), features->parameters()));
    EXPECT_EQ(evaluated(*again, kRows), evaluated(*features, kRows));
    EXPECT_EQ(again->record().settings, features->record().settings);
    EXPECT_EQ(again->record().kind, widths.empty() ? "linear" : "dense");
  }
}

TEST(FeatureNetwork, DamagedRecordsAreErrors) {
  const auto refused = [](EnergyRecord record, const char* message) {
    try {
      make_features(record);
      ADD_FAILURE() << "accepted: " << message;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  };
  const EnergyRecord linear = make_dense_features(shape_of({}), 1)->record();
  EnergyRecord bad = linear;
  bad.kind = "conv";
  refused(bad, "'conv'");
  bad = linear;
  bad.settings = "{}";
  refused(bad, "'inputs' is missing");
  bad.settings = R"({"inputs":2,"levels":[3,0]})";
  refused(bad, "'levels' is 0");
  bad.settings = R"({"inputs":2,"levels":[16000000,2]})";
  refused(bad, "expected 16000000");
  bad = linear;
  bad.tensors[1].values[0] = std::numeric_limits<float>::infinity();
  refused(bad, "not finite");
  bad = linear;
  bad.tensors[0].name = "other";
  refused(bad, "'unseen0' is missing");
  bad = make_dense_features(shape_of({4}), 1)->record();
  const std::string on = "\"activates_output\":true";
  bad.settings.replace(bad.settings.find(on), on.size(), "\"activates_output\":false");
  refused(bad, "activated");
  bad = {.kind = "torchscript", .settings = R"({"inputs":-1})", .tensors = {}, .module = {}};
  refused(bad, "'inputs' is -1");
}

TEST(FeatureNetwork, LinearFeaturesOfTooManyLevelsAreAnError) {
  DenseShape shape;
  shape.levels = {4000000000u, 4000000000u};
  EXPECT_THROW(make_dense_features(shape, 0), Error);
}

class ModuleFeatures : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(path_) << "not a module"; }
  void TearDown() override {
    unsetenv("SELFNORM_TORCH_MODULE");
    std::filesystem::remove(path_);
  }

  std::string error() const {
    try {
      load_module_features(path_, 2, EmbeddedCode::run);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  const std::string path_ = testing::TempDir() + "module_features." +
                            testing::UnitTest::GetInstance()->current_test_info()->name() + ".pt";
};

TEST_F(ModuleFeatures, AMissingFileIsNamed) {
  std::filesystem::remove(path_);
  EXPECT_TRUE(error().starts_with(path_)) << error();
}

TEST_F(ModuleFeatures, AMissingSharedModuleSaysWhatToInstall) {
  setenv("SELFNORM_TORCH_MODULE", "/nowhere/libselfnorm_torch.so", 1);
  EXPECT_TRUE(error().starts_with(path_)) << error();
  EXPECT_NE(error().find("libtorch-dev"), std::string::npos) << error();
}

TEST_F(ModuleFeatures, ASharedModuleOfAnotherVersionIsRefused) {
  setenv("SELFNORM_TORCH_MODULE", "libc.so.6", 1);
  EXPECT_NE(error().find("another version"), std::string::npos) << error();
}

}  // namespace
}  // namespace selfnorm
