#include <gtest/gtest.h>

#include <sstream>

#include "cli/regressor_data.h"

namespace selfnorm::cli {
namespace {

// Fields of the lines of a CSV without quotes.
std::vector<std::vector<std::string>> table_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields(1);
    for (const char c : line)
      if (c == ',')
        fields.emplace_back();
      else
        fields.back() += c;
    rows.push_back(std::move(fields));
  }
  return rows;
}

double field(const std::vector<std::vector<std::string>>& table, size_t row, const std::string& name) {
  const auto& names = table[0];
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw std::runtime_error("no column " + name);
  return std::stod(table[row + 1].at(static_cast<size_t>(found - names.begin())));
}

TEST(Predict, ReadableRowsByDefault) {
  const Folder folder;
  train_tiny(folder);
  folder.write("new.csv", "colour,x\nred,0.5\nblue,0.5\n");
  const Outcome predicted = folder.run({"predict", "run", "new.csv"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_EQ(predicted.err, "");
  const auto table = table_of(predicted.out);
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[0],
            (std::vector<std::string>{"row", "mean", "sd", "median", "modes", "q0.05", "q0.25", "q0.5",
                                      "q0.75", "q0.95", "central0.9", "highest_density0.9"}));
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_LT(field(table, row, "q0.05"), field(table, row, "q0.25"));
    EXPECT_EQ(field(table, row, "median"), field(table, row, "q0.5"));
    EXPECT_LT(field(table, row, "median"), field(table, row, "q0.95"));
    EXPECT_GT(field(table, row, "sd"), 0);
    // The central 90% lie between these quantiles.
    const std::string& central = table[row + 1][10];
    EXPECT_NEAR(std::stod(central), field(table, row, "q0.05"), 1e-9);
    EXPECT_NEAR(std::stod(central.substr(central.find(':') + 1)), field(table, row, "q0.95"), 1e-9);
    EXPECT_NE(table[row + 1][11].find(':'), std::string::npos);
  }
  EXPECT_GT(field(table, 1, "mean"), field(table, 0, "mean"));
}

TEST(Predict, JsonHasTheSameNumbers) {
  const Folder folder;
  train_tiny(folder);
  const std::vector<std::string> words{"predict",     "run",           "data.csv",  "--quantiles", "0.1,0.9",
                                       "--intervals", "0.5,0.8",       "--samples", "3",           "--grid",
                                       "5",           "--log-density", "both",      "--quiet"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return folder.run(more);
  };
  const Outcome csv = with({}), lines = with({"--format", "json"}), whole = with({"--json"});
  ASSERT_EQ(csv.code, 0) << csv.err;
  const auto table = table_of(csv.out);
  ASSERT_EQ(table.size(), 201u);
  const auto object = whole.json();
  EXPECT_EQ(object["rows"].size(), 200u);
  EXPECT_EQ(object["targets"][0], "y");
  const auto first = nlohmann::json::parse(lines.out.substr(0, lines.out.find('\n')));
  EXPECT_EQ(first, object["rows"][0]);
  for (size_t row = 0; row < 200; row += 50) {
    const auto& json = object["rows"][row];
    EXPECT_EQ(json["row"], row);
    EXPECT_EQ(json["mean"].get<double>(), field(table, row, "mean"));
    EXPECT_EQ(json["quantiles"]["0.9"].get<double>(), field(table, row, "q0.9"));
    EXPECT_EQ(json["log_density"].get<double>(), field(table, row, "log_density"));
    EXPECT_EQ(json["log_density_raw"].get<double>(), field(table, row, "log_density_raw"));
    EXPECT_NEAR(json["log_density_raw"].get<double>() - json["log_density"].get<double>(),
                json["a"].get<double>() - json["b"].get<double>(), 1e-6);
    EXPECT_EQ(json["samples"].size(), 3u);
    EXPECT_EQ(json["grid"]["density"].size(), 5u);
    EXPECT_EQ(json["central"]["0.5"].size(), 2u);
    EXPECT_GE(json["highest_density"]["0.8"].size(), 1u);
    EXPECT_LT(json["error"].get<double>(), 1e-3);
  }
  // The mean log-density is that of evaluate.
  double sum = 0;
  for (size_t row = 0; row < 200; ++row) sum += field(table, row, "log_density");
  EXPECT_NEAR(-sum / 200,
              folder.run({"evaluate", "run", "data.csv", "--json", "--quiet"}).json()["nll"].get<double>(),
              1e-6);
}

TEST(Predict, SeedsThreadsAndFiles) {
  const Folder folder;
  train_tiny(folder);
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"predict", "run", "data.csv", "--samples", "2", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome predicted = folder.run(words);
    EXPECT_EQ(predicted.code, 0) << predicted.err;
    return predicted.out;
  };
  const std::string one = run({"--threads", "1"});
  EXPECT_TRUE(one == run({"--threads", "2"}));
  EXPECT_FALSE(one == run({"--seed", "1"}));
  EXPECT_EQ(run({"--out", "p.csv"}), "");
  EXPECT_TRUE(one == content(folder / "p.csv"));
  EXPECT_EQ(nlohmann::json::parse(run({"--out", "p.csv", "--json"}))["out"], "p.csv");
  const Outcome piped =
      folder.run_on(content(folder / "data.csv"), {"predict", "run", "-", "--samples", "2", "--quiet"});
  EXPECT_TRUE(one == piped.out) << piped.err;
}

TEST(Predict, SeveralTargets) {
  const Folder folder;
  write_table(folder, "data.csv", 60, 1, true);
  train_tiny(folder, {"--target", "y,z", "--epochs", "2"});
  folder.write("new.csv", "x,colour,y,z\n0.5,red,0.4,\n1,blue,3,-3\n");
  const auto table = table_of(
      folder
          .run({"predict", "run", "new.csv", "--quantiles", "none", "--intervals", "none", "--samples", "2"})
          .out);
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[0], (std::vector<std::string>{"row", "y.mean", "y.sd", "y.median", "y.modes", "z.mean",
                                                "z.sd", "z.median", "z.modes", "log_density", "samples"}));
  EXPECT_EQ(table[1][9], "");  // one of its targets is missing
  EXPECT_LT(std::stod(table[2][9]), 5);
  EXPECT_EQ(std::count(table[1][10].begin(), table[1][10].end(), ';'), 1);
  EXPECT_EQ(std::count(table[1][10].begin(), table[1][10].end(), ' '), 2);
  const auto row =
      folder.run({"predict", "run", "new.csv", "--json", "--samples", "2", "--quiet"}).json()["rows"][0];
  EXPECT_TRUE(row["targets"]["z"]["mean"].is_number());
  EXPECT_TRUE(row["log_density"].is_null());
  EXPECT_EQ(row["samples"][1].size(), 2u);
}

TEST(Predict, BadOptions) {
  const Folder folder;
  train_tiny(folder);
  folder.write("new.csv", "colour,x\nred,0.5\n");
  const auto error = [&](const std::vector<std::string>& more, const std::string& text) {
    std::vector<std::string> words{"predict", "run", "new.csv"};
    words.insert(words.end(), more.begin(), more.end());
    expect_user_error(folder.run(words), text);
  };
  error({"--quantiles", "0.5,1"}, "--quantiles = 1 is out of range; expected > 0, < 1");
  error({"--quantiles", "x"}, "--quantiles 'x'");
  error({"--intervals", "0"}, "--intervals = 0 is out of range");
  error({"--grid", "1"}, "grid");
  error({"--precision", "1"}, "precision");
  error({"--log-density", "raw"}, "new.csv has no column y");
  error({"--out", "no/such/file"}, "no/such");
}

}  // namespace
}  // namespace selfnorm::cli
