// Points of the sphere: columns by name, and log Z that is not looked for again.
#include <gtest/gtest.h>

#include <cmath>

#include "cli/density_data.h"

namespace selfnorm::cli {
namespace {

// Around latitude 40, longitude -100.
void write_places(const Folder& folder, int rows) {
  std::minstd_rand random(3);
  std::string text = "latitude,longitude\n", swapped = "longitude,latitude\n", vectors = "a,b,c\n";
  for (int i = 0; i < rows; ++i) {
    const double lat = 40 + 8 * normal(random), lon = -100 + 10 * normal(random), turn = M_PI / 180;
    text += fmt::format("{:.4f},{:.4f}\n", lat, lon);
    swapped += fmt::format("{:.4f},{:.4f}\n", lon, lat);
    vectors += fmt::format("{:.7f},{:.7f},{:.7f}\n", std::cos(lat * turn) * std::cos(lon * turn),
                           std::cos(lat * turn) * std::sin(lon * turn), std::sin(lat * turn));
  }
  folder.write("places.csv", text);
  folder.write("swapped.csv", swapped);
  folder.write("vectors.csv", vectors);
}

TEST(DensityOnTheSphere, ColumnsAreFoundByName) {
  const Folder folder;
  write_places(folder, 300);
  const auto train = [&](const std::string& data, const std::string& out) {
    return folder.run({"train", "density", data, "--space", "sphere", "--objective", "fit", "--proposal",
                       "directions:2", "--no-report", "--out", out});
  };
  ASSERT_EQ(train("places.csv", "run").code, 0);
  const std::string scored = folder.run({"score", "run", "places.csv"}).out;
  EXPECT_EQ(folder.run({"score", "run", "swapped.csv"}).out, scored);
  expect_user_error(folder.run({"score", "run", "vectors.csv"}),
                    "a column 'a', which the model does not have");
  folder.write("half.csv", "latitude\n40\n");
  expect_user_error(folder.run({"predict", "run", "half.csv"}), "found no column 'longitude'");
  // Both orders and unit vectors are one density.
  ASSERT_EQ(train("swapped.csv", "other").code, 0);
  EXPECT_EQ(folder.run({"score", "other", "places.csv"}).out, scored);
  ASSERT_EQ(train("vectors.csv", "vectors").code, 0);
  const auto nll = [&](const char* model, const char* data) {
    return folder.run({"evaluate", model, data, "--json"}).json()["nll"].get<double>();
  };
  EXPECT_NEAR(nll("vectors", "vectors.csv"), nll("run", "places.csv"), 1e-3);
  EXPECT_EQ(folder.run({"sample", "run", "-n", "2", "--quiet"}).out.rfind("latitude,longitude\n", 0), 0u);
  EXPECT_EQ(folder.run({"sample", "vectors", "-n", "2", "--quiet"}).out.rfind("a,b,c\n", 0), 0u);
}

TEST(DensityOnTheSphere, PredictTakesTheLogZOfTraining) {
  const Folder folder;
  write_places(folder, 300);
  const Outcome trained =
      folder.run({"train", "density", "places.csv", "--space", "sphere", "--energy", "mlp:8", "--steps", "60",
                  "--proposal", "uniform", "--seed", "7", "--out", "run", "--no-report"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("log Z: looking for it"), std::string::npos) << trained.err;
  const auto z = folder.run({"info", "run", "--json"}).json()["audit"]["log_z"];
  const auto scored = folder.run({"score", "run", "places.csv", "--exact", "--json"}).json();
  EXPECT_EQ(scored["log_z"]["value"], z["value"]);
  EXPECT_EQ(scored["log_z"]["low"], z["low"]);
  // Other options ask for another one.
  const auto other =
      folder.run({"score", "run", "places.csv", "--exact", "--method", "importance", "--json"}).json();
  EXPECT_EQ(other["kind"], "importance");
  EXPECT_NE(other["log_z"]["value"], z["value"]);
  EXPECT_NEAR(other["log_z"]["value"].get<double>(), z["value"].get<double>(), 0.05);
  const Outcome predicted = folder.run({"predict", "run", "places.csv", "--json"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
}

}  // namespace
}  // namespace selfnorm::cli
