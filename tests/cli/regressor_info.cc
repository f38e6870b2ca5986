// What `info` says of regressors, and readers of other models of their files.
#include <gtest/gtest.h>

#include <limits>

#include "cli/program.h"
#include "model/regressor/regressor.h"
#include "small_regressors.h"

namespace selfnorm::cli {
namespace {

TEST(RegressorInfo, SaysWhatTheModelIs) {
  const Folder folder;
  Regressor model = test::random_regressor({.own_features = true, .members = 2});
  model.mixture.lower = {(0.0 - model.target_mean[0]) / model.target_scale[0]};
  model.mixture.upper = {std::numeric_limits<double>::infinity()};
  save_regressor(model, folder / "m.safetensors");
  const auto info = folder.run({"info", "m.safetensors", "--json"}).json();
  EXPECT_EQ(info["family"], "regressor");
  EXPECT_EQ(info["targets"], nlohmann::json::array({"y"}));
  EXPECT_EQ(info["columns"], nlohmann::json::array({"a", "b", "c"}));
  EXPECT_EQ(info["ensemble"], 2);
  EXPECT_EQ(info["components"], 3);
  EXPECT_EQ(info["own_features"], true);
  EXPECT_NEAR(info["lower"][0].get<double>(), 0, 1e-12);
  EXPECT_EQ(info["upper"][0], "inf");
  size_t parameters = 0;
  for (RegressorNetworks& member : model.members)
    for (const auto part : member.parameters()) parameters += part.size();
  EXPECT_EQ(info["parameters"], parameters);
  const Outcome text = folder.run({"info", "m.safetensors"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("regressor"), std::string::npos) << text.out;

  save_regressor(test::random_regressor({.tilted = false}), folder / "mdn.safetensors");
  EXPECT_TRUE(folder.run({"info", "mdn.safetensors", "--json"}).json()["tilt"].is_null());
}

}  // namespace
}  // namespace selfnorm::cli
