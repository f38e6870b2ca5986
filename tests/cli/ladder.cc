// The ladder from the outside: normalize --within, score, evaluate, info, audit --sample, and the end of
// train.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cli/program.h"
#include "math/random.h"
#include "model/safetensors_writer.h"
#include "normalizer/ladder/clustered_head.h"

namespace selfnorm::cli {
namespace {

constexpr uint64_t kClasses = 1200, kStates = 3000;

void write_floats(const std::string& path, const char* name, std::vector<uint64_t> shape,
                  const std::vector<float>& values, const std::vector<float>& bias = {}) {
  std::vector<runtime::Tensor> tensors = {
      make_tensor(name, runtime::Dtype::F32, std::move(shape), std::span<const float>(values))};
  if (!bias.empty())
    tensors.push_back(make_tensor("bias", runtime::Dtype::F32, {bias.size()}, std::span<const float>(bias)));
  write_safetensors(path, std::move(tensors), {});
}

// A head whose classes come in clusters, and states; `scale` of these makes other inputs of them.
struct HeadFolder : Folder {
  HeadFolder() {
    const ModelFile model = clustered_head(kClasses, 5, 12, 0.2, 1);
    write_floats(*this / "head.safetensors", "weight", {kClasses, 5}, model.weight, model.bias);
    states("h.safetensors", 2, 1);
  }
  void states(const std::string& name, uint64_t seed, float scale) const {
    Features x = dense_inputs(kStates, 5, seed);
    for (float& v : x.dense.values) v *= scale;
    write_floats(*this / name, "states", {kStates, 5}, x.dense.values);
  }
  Outcome ladder(std::vector<std::string> more) const {
    more.insert(more.begin(),
                {"normalize", "head.safetensors", "--states", "h.safetensors", "-o", "out.safetensors"});
    return run(more);
  }
  nlohmann::json scored(std::vector<std::string> more) const {
    more.insert(more.begin(), {"score", "out.safetensors", "h.safetensors", "--candidates", "3,7", "--json"});
    return run(more).json();
  }
};

TEST(Ladder, OfAHeadIsFittedServedAndWatched) {
  const HeadFolder folder;
  const Outcome fitted = folder.ladder({"--within", "0.1", "--keep", "all", "--json"});
  ASSERT_EQ(fitted.code, 0) << fitted.err;
  const auto ladder = fitted.json()["ladder"];
  EXPECT_EQ(ladder["rungs"].back()["kind"], "exact");
  EXPECT_EQ(ladder["rungs"].back()["cost"], kClasses);
  EXPECT_EQ(ladder["fitted"].get<uint64_t>() + ladder["certified"].get<uint64_t>(), kStates);

  const auto served = folder.scored({}), exact = folder.scored({"--exact"}), raw = folder.scored({"--raw"});
  EXPECT_EQ(served.value("rung", served["kind"].get<std::string>()), ladder["chosen"]);
  EXPECT_LE(served["eps"].get<double>(), 0.1);
  EXPECT_EQ(served["rho"], 0.01);
  EXPECT_EQ(exact["kind"], "exact");
  EXPECT_EQ(raw["kind"], "raw");
  uint64_t far = 0;
  for (size_t i = 0; i < served["rows"].size(); ++i)
    far += std::abs(served["rows"][i]["log_prob"].get<double>() -
                    exact["rows"][i]["log_prob"].get<double>()) > served["eps"].get<double>()
               ? 1
               : 0;
  EXPECT_LE(far, served["rows"].size() / 50);
  EXPECT_EQ(folder.scored({"--within", "1e-9"})["kind"], "exact");
  EXPECT_EQ(folder.scored({"--rung", "network-64"})["kind"], "network");
  EXPECT_EQ(folder.scored({"--rung", "exact"})["kind"], "exact");
  const Outcome lines = folder.run({"score", "out.safetensors", "h.safetensors", "--candidates", "3"});
  EXPECT_NE(lines.out.find("certified within"), std::string::npos) << lines.out.substr(0, 200);
  const auto info = folder.run({"info", "out.safetensors", "--json"}).json();
  size_t cheaper = 0;
  for (const auto& rung : ladder["rungs"]) cheaper += rung["cost"].get<double>() < kClasses ? 1 : 0;
  EXPECT_EQ(info["ladder"].size(), cheaper);

  const Outcome holds =
      folder.run({"audit", "out.safetensors", "h.safetensors", "--sample", "800", "--json", "--no-report"});
  EXPECT_EQ(holds.code, 0) << holds.err;
  EXPECT_EQ(holds.json()["n"], 800);
  EXPECT_EQ(holds.json()["ladder"].size(), info["ladder"].size());
  folder.states("other.safetensors", 9, 4);  // four times as large
  const Outcome drifted =
      folder.run({"audit", "out.safetensors", "other.safetensors", "--sample", "800", "--no-report"});
  EXPECT_EQ(drifted.code, 3) << drifted.out;
  EXPECT_NE(drifted.out.find("NO LONGER HOLDS"), std::string::npos) << drifted.out;
}

TEST(Ladder, SaysWhenOnlyExactIsGoodEnough) {
  const HeadFolder folder;
  const Outcome fitted = folder.ladder({"--within", "1e-7"});
  EXPECT_EQ(fitted.code, 3);
  EXPECT_NE(fitted.out.find("exact: no cheaper rung is certified"), std::string::npos) << fitted.out;
  EXPECT_EQ(folder.scored({})["kind"], "exact");
}

// --within, --rho and --conf of the fit are what score serves when nobody says otherwise.
TEST(Ladder, WhatWasAskedForIsServed) {
  const HeadFolder folder;
  const auto fitted =
      folder.ladder({"--within", "0.5", "--rho", "0.05", "--conf", "0.9", "--keep", "all", "--json"}).json();
  const auto served = folder.scored({});
  EXPECT_EQ(served.value("rung", served["kind"].get<std::string>()), fitted["ladder"]["chosen"]);
  EXPECT_EQ(served["rho"], 0.05);
  const double eps = served["eps"];
  EXPECT_LE(eps, 0.5);
  const auto finer = folder.scored({"--within", fmt::format("{}", 0.9 * eps)});
  EXPECT_TRUE(finer["kind"] == "exact" || finer["eps"].get<double>() <= 0.9 * eps);
  const auto by_cost = folder.ladder({"--max-cost", "2", "--json"}).json();
  const auto cheap = folder.scored({});
  EXPECT_EQ(cheap.value("rung", cheap["kind"].get<std::string>()), by_cost["ladder"]["chosen"]);
}

TEST(Ladder, TheMostPreciseOfACost) {
  const HeadFolder folder;
  const auto json = folder.ladder({"--max-cost", "2", "--json"}).json();
  EXPECT_TRUE(json["ladder"]["chosen"] == "linear" || json["ladder"]["chosen"] == "raw");
}

TEST(Ladder, WrongWordsAreNamed) {
  const HeadFolder folder;
  expect_user_error(
      folder.run({"score", "head.safetensors", "h.safetensors", "--candidates", "3", "--rung", "nearest"}),
      "has no such rung; expected one of exact");
  expect_user_error(folder.run({"score", "head.safetensors", "h.safetensors", "--candidates", "3", "--rung",
                                "raw", "--exact"}),
                    "give only one of");
  expect_user_error(folder.ladder({"--within", "0"}), "--within");
}

// Few classes: the line says so, and the file is as it always was.
TEST(Ladder, EndsTraining) {
  const Folder folder;
  folder.generate("data.svm", 1500);
  const Outcome trained = folder.run({"train", "classifier", "data.svm", "--out", "run", "--no-report"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("served: exact: a sum over"), std::string::npos) << trained.out;
  const Outcome without =
      folder.run({"train", "classifier", "data.svm", "--out", "other", "--no-report", "--no-ladder"});
  EXPECT_EQ(without.out.find("served:"), std::string::npos);
  EXPECT_EQ(folder.run({"score", "run", "data.svm", "--json"}).json()["kind"], "exact");
}

}  // namespace
}  // namespace selfnorm::cli
