#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "cli/density_data.h"
#include "model/energy/density_file.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

// The points of a csv file without its header.
std::vector<std::vector<double>> points_of(const std::string& csv) {
  std::vector<std::vector<double>> points;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    points.emplace_back();
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) points.back().push_back(std::stod(field));
  }
  return points;
}

double column_mean(const std::vector<std::vector<double>>& points, size_t j) {
  double sum = 0;
  for (const auto& p : points) sum += p[j];
  return sum / static_cast<double>(points.size());
}

class Sample : public testing::Test {
 protected:
  void SetUp() override {
    write_lumps(folder);
    const Outcome fitted = folder.run({"train", "density", "data.csv", "--objective", "fit", "--proposal",
                                       "gaussian", "--quiet", "--out", "run"});
    ASSERT_EQ(fitted.code, 0) << fitted.err;
  }

  Folder folder;
};

TEST_F(Sample, CsvOnStandardOutputByDefault) {
  const Outcome drawn = folder.run({"sample", "run", "-n", "2000"});
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_EQ(drawn.out.rfind("x,y\n", 0), 0u) << drawn.out.substr(0, 20);
  EXPECT_NE(drawn.err.find("2,000 points"), std::string::npos) << drawn.err;
  const auto points = points_of(drawn.out);
  ASSERT_EQ(points.size(), 2000u);
  // The mean of y is 10 with a standard deviation of 2: the error of 2,000 points is 0.045, that of the 270
  // rows fitted 0.12.
  EXPECT_NEAR(column_mean(points, 1), 10, 0.6);
  EXPECT_EQ(drawn.out, folder.run({"sample", "run", "-n", "2000", "--threads", "1", "--quiet"}).out);
  EXPECT_NE(drawn.out, folder.run({"sample", "run", "-n", "2000", "--seed", "1"}).out);
}

TEST_F(Sample, FilesAreReadBack) {
  for (const std::string name : {"a.csv", "a.npy"}) {
    const Outcome drawn = folder.run({"sample", "run", "-n", "500", "-o", name, "--json"});
    ASSERT_EQ(drawn.code, 0) << drawn.err;
    EXPECT_EQ(drawn.json()["out"], name);
    EXPECT_EQ(drawn.json()["n"], 500);
  }
  const auto csv = folder.run({"evaluate", "run", "a.csv", "--json"}).json();
  const auto npy = folder.run({"evaluate", "run", "a.npy", "--json"}).json();
  EXPECT_EQ(csv["rows"], 500);
  EXPECT_EQ(csv["nll"], npy["nll"]);
  // Points of the model have its entropy, that of a Gaussian fitted to the training rows, as mean NLL.
  const double entropy = folder.run({"info", "run", "--json"}).json()["audit"]["nll"];
  EXPECT_NEAR(csv["nll"].get<double>(), entropy, 0.3);
}

TEST_F(Sample, ChainsReportHowGoodTheyAre) {
  for (const std::string method : {"hmc", "langevin"}) {
    const Outcome drawn = folder.run({"sample", "run", "-n", "800", "--method", method, "--json"});
    ASSERT_EQ(drawn.code, 0) << drawn.err;
    const auto json = drawn.json();
    EXPECT_EQ(json["method"], method);
    EXPECT_EQ(json["points"].size(), 800u);
    EXPECT_EQ(json["r_hat"].size(), 2u);
    EXPECT_EQ(json["ess"].size(), 2u);
    EXPECT_GT(json["acceptance"].get<double>(), 0.3);
    EXPECT_LT(json["r_hat"][0].get<double>(), 1.2) << method;
  }
  const Outcome text = folder.run({"sample", "run", "-n", "800", "--method", "hmc", "-o", "b.csv"});
  EXPECT_EQ(text.out, "");
  EXPECT_NE(text.err.find("R-hat"), std::string::npos) << text.err;
}

TEST_F(Sample, TooSmallAPoolIsSaid) {
  const Outcome drawn = folder.run({"sample", "run", "-n", "50", "--method", "sir", "--pool", "10"});
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_NE(drawn.err.find("warning: the pool is worth"), std::string::npos) << drawn.err;
  // Enough to be a sample of the model, and most of its points are there twice.
  const Outcome twice = folder.run({"sample", "run", "-n", "2000", "--method", "sir", "--pool", "1000"});
  EXPECT_NE(twice.err.find("expected 2,000 or more"), std::string::npos) << twice.err;
}

TEST_F(Sample, BitsByGibbs) {
  write_bits(folder);
  ASSERT_EQ(folder
                .run(small_density("bits.csv", "bits",
                                   {"--energy", "ising", "--objective", "pseudo-likelihood", "--quiet"}))
                .code,
            0);
  for (const std::string method : {"gibbs", "sir", "auto"}) {
    const Outcome drawn = folder.run({"sample", "bits", "-n", "400", "--method", method, "--quiet"});
    ASSERT_EQ(drawn.code, 0) << drawn.err;
    const auto points = points_of(drawn.out);
    ASSERT_EQ(points.size(), 400u);
    for (const auto& p : points)
      for (const double v : p) EXPECT_TRUE(v == 0 || v == 1) << v;
  }
  expect_user_error(folder.run({"sample", "bits", "-n", "10", "--method", "hmc"}), "hmc");
}

TEST_F(Sample, BadRequests) {
  const auto before = folder.names();
  expect_user_error(folder.run({"sample", "run"}), "sample needs -n N");
  expect_user_error(folder.run({"sample", "run", "-n", "0"}), "sample needs -n N");
  expect_user_error(folder.run({"sample", "run", "-n", "-3"}), "-3");
  expect_user_error(folder.run({"sample", "run", "-n", "3", "-o", "a.txt"}), "a.txt");
  expect_user_error(folder.run({"sample", "run", "-n", "3", "--method", "nuts"}), "nuts");
  expect_user_error(folder.run({"sample", "run", "-n", "3", "--method", "gibbs"}), "gibbs");
  expect_user_error(folder.run({"sample", "run", "-n", "3", "--chains", "0"}), "chains = 0");
  expect_user_error(folder.run({"sample", "run", "-n", "3", "-o", "nowhere/a.csv"}), "nowhere");
  expect_user_error(folder.run({"sample", "missing", "-n", "3"}), "missing");
  EXPECT_EQ(folder.names(), before);
}

TEST_F(Sample, PointsThatAreNotFiniteAreAnError) {
  const std::string path = folder / "run/model.safetensors";
  DensityModel model = load_density(path);
  model.standardisation.scale.assign(model.dimension(), 3e38);
  save_density(model, path);
  expect_user_error(folder.run({"sample", "run", "-n", "2000", "--quiet"}), "expected a finite number");
  model.standardisation.scale.assign(model.dimension(), 1e300);
  EXPECT_THROW(save_density(model, path), Error);
}

}  // namespace
}  // namespace selfnorm::cli
