// Tables of numbers and words through the commands of densities.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "cli/density_data.h"

namespace selfnorm::cli {
namespace {

// Cars and vans: a weight, a word, and whether it has a hook, which depends on the word. Returns the mean of
// -log p of its rows under the truth.
double write_cars(const Folder& folder, const std::string& name, int rows, unsigned seed) {
  std::minstd_rand random(seed);
  std::string text = "weight,kind,hook\n";
  double nll = 0;
  for (int i = 0; i < rows; ++i) {
    const bool van = uniform(random) < 0.3, hook = uniform(random) < (van ? 0.8 : 0.1);
    const double z = normal(random);
    text += fmt::format("{:.5f},{},{}\n", (van ? 2.2 : 1.3) + 0.2 * z, van ? "van" : "car", hook ? 1 : 0);
    const double share = (van ? 0.3 : 0.7) * (hook == van ? (van ? 0.8 : 0.9) : (van ? 0.2 : 0.1));
    nll -= (std::log(share) - 0.5 * z * z - std::log(0.2 * std::sqrt(2 * M_PI))) / rows;
  }
  folder.write(name, text);
  return nll;
}

TEST(MixedDensity, GoesThroughEveryCommand) {
  const Folder folder;
  write_cars(folder, "data.csv", 1500, 1);
  const double truth = write_cars(folder, "test.csv", 1000, 2);
  const Outcome trained = folder.run({"train", "density", "data.csv", "--out", "run", "--energy", "mlp:16",
                                      "--steps", "200", "--no-report"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Outcome judged = folder.run({"evaluate", "run", "test.csv", "--json"});
  ASSERT_EQ(judged.code, 0) << judged.err;
  EXPECT_EQ(judged.json()["trusted"], true);
  EXPECT_NEAR(judged.json()["nll"].get<double>(), truth, 0.03);
  const auto info = folder.run({"info", "run", "--json"}).json();
  EXPECT_EQ(info["space"], "mixed");
  EXPECT_EQ(info["geometry"]["categories"][1], (std::vector<std::string>{"car", "van"}));

  const Outcome drawn = folder.run({"sample", "run", "-n", "200", "--quiet"});
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  std::istringstream lines(drawn.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "weight,kind,hook");
  int vans = 0, count = 0;
  for (; std::getline(lines, line); ++count) {
    EXPECT_TRUE(line.ends_with(",0") || line.ends_with(",1")) << line;
    vans += line.find(",van,") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(count, 200);
  EXPECT_NEAR(vans, 60, 30);
  folder.write("drawn.csv", drawn.out);
  EXPECT_EQ(folder.run({"score", "run", "drawn.csv"}).code, 0);

  // An ordinary car, and a van of a car's weight without a hook.
  folder.write("odd.csv", "kind,hook,weight\ncar,0,1.3\nvan,0,1.1\n");
  const Outcome ranked = folder.run({"predict", "run", "odd.csv", "--json"});
  ASSERT_EQ(ranked.code, 0) << ranked.err;
  EXPECT_NE(ranked.out.find("\"rank\":1"), std::string::npos) << ranked.out;
  EXPECT_LT(ranked.out.find("\"rank\":2"), ranked.out.find("\"rank\":1")) << ranked.out;
  folder.write("new.csv", "kind,hook,weight\nbus,0,1.3\n");
  expect_user_error(folder.run({"evaluate", "run", "new.csv"}), "found 'bus'");
}

TEST(MixedDensity, WhatIsFittedSaysWhatItIsOver) {
  const Folder folder;
  write_cars(folder, "data.csv", 300, 1);
  expect_user_error(folder.run({"train", "density", "data.csv", "--quiet", "--proposal", "kde"}),
                    "real numbers and levels");
  expect_user_error(folder.run({"train", "density", "data.csv", "--quiet", "--energy", "gaussian"}),
                    "words and levels");
  expect_user_error(folder.run({"train", "density", "data.csv", "--quiet", "--space", "real"}), "has words");
  expect_user_error(folder.run({"train", "density", "data.csv", "--quiet", "--objective", "dsm"}), "words");
  // Without the words the bits beside numbers are levels still, and can be numbers.
  const Outcome bits = folder.run({"train", "density", "data.csv", "--drop", "kind", "--objective", "fit",
                                   "--proposal", "products:2", "--out", "bits", "--no-report"});
  ASSERT_EQ(bits.code, 0) << bits.err;
  EXPECT_EQ(folder.run({"info", "bits", "--json"}).json()["space"], "mixed");
  const Outcome real = folder.run({"train", "density", "data.csv", "--drop", "kind", "--objective", "fit",
                                   "--proposal", "mixture:2", "--out", "real", "--no-report"});
  ASSERT_EQ(real.code, 0) << real.err;
  EXPECT_EQ(folder.run({"info", "real", "--json"}).json()["space"], "real");
}

// Degrees near 180 and -180 are neighbours for predict as they are for evaluate.
TEST(DirectedDensity, PredictReadsAnglesAsTheyWereTrained) {
  const Folder folder;
  std::minstd_rand random(4);
  std::string text = "a,b\n";
  for (int i = 0; i < 400; ++i)
    text += fmt::format("{:.3f},{:.3f}\n",
                        (i % 2 == 0 ? 180 : -180) + 10 * normal(random) * (i % 2 == 0 ? -1 : 1),
                        360 * uniform(random));
  folder.write("turns.csv", text);
  ASSERT_EQ(folder
                .run({"train", "density", "turns.csv", "--space", "torus", "--objective", "fit", "--proposal",
                      "directions:2", "--out", "run", "--no-report"})
                .code,
            0);
  folder.write("two.csv", "a,b\n0,10\n179,10\n");
  const Outcome ranked = folder.run({"predict", "run", "two.csv"});  // row,log_density,rank,unusual
  ASSERT_EQ(ranked.code, 0) << ranked.err;
  std::istringstream lines(ranked.out);
  std::string line;
  std::vector<double> found;
  for (std::getline(lines, line); std::getline(lines, line);)
    found.push_back(std::stod(line.substr(line.find(',') + 1)));
  ASSERT_EQ(found.size(), 2u);
  const double far = found[0], near = found[1];
  EXPECT_GT(near, far + 5);
}

}  // namespace
}  // namespace selfnorm::cli
