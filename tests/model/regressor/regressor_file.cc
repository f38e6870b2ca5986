#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "model/energy/density_file.h"
#include "model/model_file.h"
#include "model/regressor/regressor.h"
#include "model/stored_record.h"
#include "selfnorm.h"
#include "selfnorm/error.h"
#include "small_regressors.h"

namespace selfnorm::test {
namespace {

class RegressorFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string saved(const Regressor& model) const {
    save_regressor(model, path_);
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }
  std::string error_of(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    try {
      load_regressor(path_);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  const std::string folder_ =
      testing::TempDir() + "regressor_file." + testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = folder_ + "/model.safetensors";
};

std::vector<double> scores_of(const Regressor& model) {
  EncodingReport report;
  const EncodedFrame x = model.encoder.encode(small_frame(9), report);
  const std::vector<float> y(size_t{9} * model.dimension(), 0.3f);
  std::vector<double> out;
  for (size_t m = 0; m < model.members.size(); ++m) {
    const auto scores = prepare_scores(model, m, x.view());
    std::vector<double> s(9);
    scores->score({y.data(), 9, model.dimension()}, std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}, s);
    out.insert(out.end(), s.begin(), s.end());
    for (uint64_t i = 0; i < 9; ++i) out.push_back(scores->normalizer(i));
  }
  return out;
}

TEST_F(RegressorFile, SaveAndLoadAreIdentity) {
  for (const RegressorPlan& plan :
       {RegressorPlan{}, RegressorPlan{.dimension = 3, .own_features = true, .members = 2},
        RegressorPlan{.tilted = false}, RegressorPlan{.components = 1, .normalised = false}}) {
    Regressor before = random_regressor(plan);
    before.tail_weight = 1.0 / 7;
    before.has_base = plan.components == 1;
    before.mixture.broad_scale = 1.0 / 0.3;
    before.members[0].temperature = plan.tilted ? 1.0 / 0.7 : 1;
    before.normalizer_kind = "fitted";
    before.audit_json = R"({"rms":0.1})";
    if (plan.dimension == 1) {
      before.mixture.lower = {-5.0 / 3};
      before.mixture.upper = {std::numeric_limits<double>::infinity()};
    }
    const std::string bytes = saved(before);
    EXPECT_EQ(identity_of(path_).family, "regressor");
    EXPECT_NE(identity_of(path_).family, "density");
    const Regressor after = load_regressor(path_);
    EXPECT_EQ(after.targets, before.targets);
    EXPECT_EQ(after.target_mean, before.target_mean);
    EXPECT_EQ(after.target_scale, before.target_scale);
    EXPECT_EQ(after.mixture.lower, before.mixture.lower);
    EXPECT_EQ(after.mixture.upper, before.mixture.upper);
    EXPECT_EQ(after.mixture.broad_scale, before.mixture.broad_scale);
    EXPECT_EQ(after.mixture.least_scale, before.mixture.least_scale);
    EXPECT_EQ(after.tail_weight, before.tail_weight);
    EXPECT_EQ(after.has_base, before.has_base);
    EXPECT_EQ(after.normalizer_kind, before.normalizer_kind);
    EXPECT_EQ(after.objective_json, before.objective_json);
    EXPECT_EQ(after.training_json, before.training_json);
    EXPECT_EQ(after.audit_json, before.audit_json);
    EXPECT_EQ(after.encoder.json(), before.encoder.json());
    EXPECT_EQ(scores_of(after), scores_of(before));
    EXPECT_TRUE(saved(after) == bytes);
  }
}

TEST_F(RegressorFile, WhatCannotBeSavedIsRefusedAndLeavesTheFile) {
  const std::string bytes = saved(random_regressor({}));
  const auto refused = [&](const auto& spoil, const char* message) {
    Regressor bad = random_regressor({});
    spoil(bad);
    try {
      save_regressor(bad, path_);
      FAIL() << message;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
      EXPECT_TRUE(std::string(error.what()).starts_with(path_)) << error.what();
    }
  };
  refused([](Regressor& m) { m.target_scale[0] = 0; }, "scale > 0");
  refused([](Regressor& m) { m.targets.clear(); }, "0 names");
  refused([](Regressor& m) { m.tail_weight = 1; }, "tail_weight");
  refused([](Regressor& m) { m.normalizer_kind = "guessed"; }, "guessed");
  refused([](Regressor& m) { m.audit_json = "{"; }, "audit");
  refused([](Regressor& m) { m.members.clear(); }, "0 members");
  refused([](Regressor& m) { m.mixture.components = 4; }, "mixture_head");
  refused([](Regressor& m) { m.members[0].context.reset(); }, "tilt and context");
  refused([](Regressor& m) { m.members[0].features->parameters()[2] = NAN; }, "'features' is not finite");
  refused([](Regressor& m) { m.members[0].tilt->parameters()[2] = INFINITY; }, "'tilt' is not finite");
  refused([](Regressor& m) { m.encoder = {}; }, "encoder");
  refused(
      [](Regressor& m) {
        m.mixture.lower = {2};
        m.mixture.upper = {1};
      },
      "");
  refused(
      [](Regressor& m) {
        m.members[0].tilt = make_conditional_mlp(3, {.widths = {5, 3}}, 1, false);
      },
      "the tilt takes 3 dimensions");
  std::ostringstream kept;
  kept << std::ifstream(path_, std::ios::binary).rdbuf();
  EXPECT_TRUE(kept.str() == bytes);
}

TEST_F(RegressorFile, RefusesDamagedMetadata) {
  const std::string good = saved(random_regressor({}));
  const auto check = [&](const std::string& from, const std::string& to, const char* message) {
    std::string bytes = good;
    ASSERT_EQ(from.size(), to.size());
    const size_t at = bytes.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    const std::string error = error_of(bytes.replace(at, from.size(), to));
    EXPECT_TRUE(error.starts_with(path_)) << error;
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  check(R"("format_version":"1")", R"("format_version":"9")", "format_version");
  check(R"("family":"regressor")", R"("family":"regresson")", "regresson");
  check(R"("dimension":"1")", R"("dimension":"4")", "1 to 3");
  check(R"("dimension":"1")", R"("dimension":"2")", "target.mean");
  check(R"("components":"3")", R"("components":"2")", "mixture_head");
  check(R"("ensemble":"1")", R"("ensemble":"2")", "member1.mixture_head");
  check(R"("ensemble":"1")", R"("ensemble":"0")", "ensemble");
  check(R"("base":"proposal")", R"("base":"proposel")", "base");
  check(R"("broad_scale":"3")", R"("broad_scale":"0")", "");
  check(R"("normalizer":"learned")", R"("normalizer":"learnet")", "learnet");
  check(R"("member0.tilt":)", R"("member0.tild":)", "");
  check("target.scale", "target.scala", "target.scale");
}

TEST_F(RegressorFile, EveryTruncationIsRefused) {
  const std::string good = saved(random_regressor({}));
  for (size_t n = 0; n < good.size(); n += 41) {
    EXPECT_TRUE(error_of(good.substr(0, n)).starts_with(path_)) << n;
    EXPECT_NE(identity_of(path_).family, "regressor") << n;
  }
}

TEST_F(RegressorFile, OneDamagedByteIsAcceptedOrNamesTheFile) {
  const std::string good = saved(random_regressor({.own_features = true}));
  for (size_t at = 0; at < good.size(); at += 19) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x24);
    const std::string error = error_of(bytes);
    EXPECT_TRUE(error == "accepted" || error.starts_with(path_)) << at << ": " << error;
  }
}

TEST_F(RegressorFile, OtherFilesAreNone) {
  EXPECT_NE(identity_of(folder_ + "/absent").family, "regressor");
  EXPECT_THROW(load_regressor(folder_ + "/absent"), Error);
  ModelFile classes;
  classes.classes = classes.features = 1;
  classes.weight = classes.bias = {1};
  save_model(classes, path_);
  EXPECT_NE(identity_of(path_).family, "regressor");
  try {
    load_regressor(path_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("not a regressor"), std::string::npos) << error.what();
  }
}

TEST_F(RegressorFile, OtherReadersSayWhatItIs) {
  saved(random_regressor({}));
  const auto message_of = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string classes = message_of([this] { load_model(path_); });
  EXPECT_NE(classes.find("is a regressor"), std::string::npos) << classes;
  const std::string density = message_of([this] { load_density(path_); });
  EXPECT_NE(density.find("not a density"), std::string::npos) << density;
  selfnorm_model* opened = nullptr;
  EXPECT_EQ(selfnorm_open(path_.c_str(), &opened), SELFNORM_ERROR_FORMAT);
  EXPECT_NE(std::string(selfnorm_error_message()).find("is a regressor"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm::test
