#include "model/energy/density_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "damage.h"
#include "model/energy/make_energy.h"
#include "model/energy/tilted.h"
#include "model/model_file.h"
#include "model/stored_record.h"
#include "proposal/density/make_density.h"
#include "selfnorm.h"
#include "selfnorm/error.h"

namespace selfnorm::test {
namespace {

constexpr uint32_t kColumns = 2;

class DensityFile : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    RandomStream random(1);
    for (float& x : rows_) x = static_cast<float>(random.normal());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Points points() const { return {rows_.data(), rows_.size() / kColumns, kColumns}; }

  DensityModel model(const std::string& energy = "mlp:5,5", const std::string& proposal = "mixture:3") const {
    DensityModel out;
    EnergyPlan plan;
    plan.word = energy;
    plan.dimension = kColumns;
    out.energy = make_energy(plan);
    RandomStream random(2);
    for (float& theta : out.energy->parameters()) theta += static_cast<float>(random.normal() / 8);
    out.energy->parameters_changed();
    out.proposal = fit_density(proposal, points());
    if (energy.starts_with("mlp")) {
      out.base = out.proposal;
      out.energy = std::make_unique<TiltedEnergy>(std::move(out.energy), out.base);
    }
    out.log_normalizer = 1.0 / 3;
    out.normalizer_kind = "learned";
    out.standardisation = {{0.1, -1e30}, {1.0 / 7, 2}};
    out.feature_names = {"höhe", ""};
    out.objective_json = R"({"name":"snl"})";
    out.training_json = R"({"steps":3})";
    return out;
  }

  static void tilt(DensityModel& model, std::shared_ptr<const Density> base) {
    model.base = base;
    model.energy = std::make_unique<TiltedEnergy>(std::move(model.energy), std::move(base));
  }

  std::string saved(const DensityModel& model) const {
    save_density(model, path_);
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  std::string error_of(const std::string& bytes) const {
    write(bytes);
    try {
      load_density(path_);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  const std::string folder_ =
      testing::TempDir() + "density_file." + testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = folder_ + "/model.safetensors";
  std::vector<float> rows_ = std::vector<float>(120);
};

TEST_F(DensityFile, DamagedFilesAreRefused) {
  const std::string good = saved(model());
  expect_damage_is_found(good, [this](const std::string& bytes) { return error_of(bytes) != "accepted"; });
}

TEST_F(DensityFile, SaveAndLoadAreIdentity) {
  for (const char* energy : {"mlp:5,5", "gaussian"}) {
    const DensityModel before = model(energy);
    const std::string bytes = saved(before);
    EXPECT_EQ(identity_of(path_).family, "density");
    const DensityModel after = load_density(path_);
    EXPECT_EQ(after.log_normalizer, before.log_normalizer);
    EXPECT_EQ(after.normalizer_kind, before.normalizer_kind);
    EXPECT_EQ(after.base == after.proposal, before.base == before.proposal);
    EXPECT_EQ(after.standardisation.mean, before.standardisation.mean);
    EXPECT_EQ(after.standardisation.scale, before.standardisation.scale);
    EXPECT_EQ(after.feature_names, before.feature_names);
    EXPECT_EQ(after.objective_json, before.objective_json);
    EXPECT_EQ(after.training_json, before.training_json);
    EXPECT_EQ(after.audit_json, before.audit_json);
    std::vector<double> expected(points().rows), found(points().rows);
    before.energy->score(points(), expected);
    after.energy->score(points(), found);
    EXPECT_EQ(found, expected) << energy;
    before.proposal->log_prob(points(), expected);
    after.proposal->log_prob(points(), found);
    EXPECT_EQ(found, expected) << energy;
    EXPECT_EQ(saved(after), bytes) << energy;
  }
}

TEST_F(DensityFile, EveryKindOfProposalRoundTrips) {
  for (const char* proposal : {"uniform", "gaussian", "gaussian:diagonal", "student-t", "kde"}) {
    const std::string bytes = saved(model("mlp:3", proposal));
    EXPECT_EQ(saved(load_density(path_)), bytes) << proposal;
  }
  DensityModel plain = model("gaussian");
  plain.standardisation = {};
  plain.feature_names.clear();
  const std::string bytes = saved(plain);
  const DensityModel again = load_density(path_);
  EXPECT_EQ(again.standardisation.log_volume(), 0);
  EXPECT_EQ(saved(again), bytes);
}

TEST_F(DensityFile, ABaseThatIsNotTheProposalRoundTrips) {
  DensityModel before = model("gaussian", "uniform");
  tilt(before, fit_density("student-t", points()));
  const std::string bytes = saved(before);
  const DensityModel after = load_density(path_);
  ASSERT_TRUE(after.base && after.base != after.proposal);
  EXPECT_EQ(after.base->record().kind, before.base->record().kind);
  EXPECT_EQ(after.base->record().values, before.base->record().values);
  EXPECT_EQ(saved(after), bytes);
}

TEST_F(DensityFile, StandardisationUndoesItself) {
  const Standardisation s{{1, -2}, {4, 0.5}};
  EXPECT_DOUBLE_EQ(s.log_volume(), std::log(2.0));
  std::vector<float> u(rows_.size()), x(rows_.size());
  s.apply(points(), u);
  EXPECT_EQ(u[0], (rows_[0] - 1) / 4);
  EXPECT_EQ(u[1], (rows_[1] + 2) / 0.5f);
  s.undo({u.data(), points().rows, kColumns}, x);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], rows_[i], 1e-6);
  Standardisation{}.apply(points(), u);
  EXPECT_EQ(u, rows_);
}

TEST_F(DensityFile, WhatCannotBeSavedIsRefusedAndLeavesTheFile) {
  const std::string bytes = saved(model());
  const auto refused = [&](const auto& spoil, const char* message) {
    DensityModel bad = model();
    spoil(bad);
    try {
      save_density(bad, path_);
      FAIL() << message;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
      EXPECT_TRUE(std::string(error.what()).starts_with(path_)) << error.what();
    }
  };
  refused([](DensityModel& m) { m.log_normalizer = NAN; }, "log-normalizer is nan");
  refused([](DensityModel& m) { m.energy->parameters()[1] = INFINITY; }, "not finite");
  refused([](DensityModel& m) { m.standardisation.scale[1] = 0; }, "scale > 0");
  refused([](DensityModel& m) { m.standardisation.mean.pop_back(); }, "standardisation of 1");
  refused([](DensityModel& m) { m.feature_names.pop_back(); }, "1 names");
  refused([](DensityModel& m) { m.audit_json = "{"; }, "audit");
  refused([](DensityModel& m) { m.proposal.reset(); }, "no proposal");
  std::ostringstream kept;
  kept << std::ifstream(path_, std::ios::binary).rdbuf();
  EXPECT_EQ(kept.str(), bytes);
}

TEST_F(DensityFile, RefusesDamagedMetadata) {
  const std::string good = saved(model());
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
  check(R"("features":"2")", R"("features":"0")", "features");
  check(R"("features":"2")", R"("features":"3")", "expected 12");
  check(R"("base":"proposal")", R"("base":"proposel")", "base");
  check(R"("energy":"mlp")", R"("energy":"mlq")", "mlq");
  check(R"("proposal":"mixture")", R"("proposal":"mixturo")", "mixturo");
  check("standardisation.scale", "standardisation.scala", "standardisation.scala");
  check(R"("log_normalizer":"0.3)", R"("log_normalizer":"nan)", "log_normalizer");
  check(R"("family":"density")", R"("family":"densitx")", "densitx");
  const std::string untilted = saved(model("gaussian"));
  const size_t at = untilted.find(R"("proposal":"mixture")");
  ASSERT_NE(at, std::string::npos);
  const std::string error = error_of(std::string(untilted).replace(at, 10, R"("proposel")"));
  EXPECT_NE(error.find("no proposal"), std::string::npos) << error;
}

TEST_F(DensityFile, EveryTruncationIsRefused) {
  const std::string good = saved(model("mlp:2", "gaussian"));
  for (size_t n = 0; n < good.size(); n += 13) {
    EXPECT_TRUE(error_of(good.substr(0, n)).starts_with(path_)) << n;
    EXPECT_NE(identity_of(path_).family, "density") << n;
  }
}

TEST_F(DensityFile, OneDamagedByteIsAcceptedOrNamesTheFile) {
  const std::string good = saved(model("mlp:2", "gaussian"));
  for (size_t at = 0; at < good.size(); at += 7) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x24);
    const std::string error = error_of(bytes);
    EXPECT_TRUE(error == "accepted" || error.starts_with(path_)) << at << ": " << error;
  }
}

TEST_F(DensityFile, OtherFilesAreNone) {
  EXPECT_NE(identity_of(folder_ + "/absent").family, "density");
  EXPECT_NE(identity_of(folder_).family, "density");
  EXPECT_THROW(load_density(folder_ + "/absent"), Error);
  write("x,y\n1,2\n");
  EXPECT_NE(identity_of(path_).family, "density");
  ModelFile classes;
  classes.classes = classes.features = 1;
  classes.weight = classes.bias = {1};
  save_model(classes, path_);
  EXPECT_NE(identity_of(path_).family, "density");
  EXPECT_THROW(load_density(path_), Error);
}

TEST_F(DensityFile, ReadersOfClassesSayWhatItIs) {
  save_density(model(), path_);
  try {
    load_model(path_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is a density over points"), std::string::npos) << error.what();
  }
  selfnorm_model* opened = nullptr;
  EXPECT_EQ(selfnorm_open(path_.c_str(), &opened), SELFNORM_ERROR_FORMAT);
  EXPECT_NE(std::string(selfnorm_error_message()).find("is a density over points"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm::test
