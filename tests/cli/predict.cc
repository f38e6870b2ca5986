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
            (std::vector<std::string>{"row", "mean", "sd", "median", "mode_1", "mode_2", "mode_3", "q0.05",
                                      "q0.25", "q0.5", "q0.75", "q0.95", "lo_0.9", "hi_0.9"}));
  for (size_t row = 0; row < 2; ++row) {
    EXPECT_LT(field(table, row, "q0.05"), field(table, row, "q0.25"));
    EXPECT_EQ(field(table, row, "median"), field(table, row, "q0.5"));
    EXPECT_LT(field(table, row, "median"), field(table, row, "q0.95"));
    EXPECT_GT(field(table, row, "sd"), 0);
    // The central 90% lie between these quantiles.
    EXPECT_NEAR(field(table, row, "lo_0.9"), field(table, row, "q0.05"), 1e-9);
    EXPECT_NEAR(field(table, row, "hi_0.9"), field(table, row, "q0.95"), 1e-9);
    EXPECT_GT(field(table, row, "mode_1"), field(table, row, "lo_0.9"));
  }
  EXPECT_GT(field(table, 1, "mean"), field(table, 0, "mean"));
}

TEST(Predict, JsonHasTheSameNumbers) {
  const Folder folder;
  train_tiny(folder);
  const std::vector<std::string> words{"predict",     "run",           "data.csv", "--quantiles", "0.1,0.9",
                                       "--intervals", "0.5,0.8",       "--number", "3",           "--grid",
                                       "5",           "--log-density", "both",     "--quiet"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return folder.run(more);
  };
  const Outcome csv = with({}), lines = with({"--output-format", "json"}), whole = with({"--json"});
  ASSERT_EQ(csv.code, 0) << csv.err;
  const auto table = table_of(csv.out);
  ASSERT_EQ(table.size(), 201u);
  const auto object = whole.json();
  EXPECT_EQ(object["rows"].size(), 200u);
  EXPECT_EQ(object["targets"][0], "y");
  const auto first = nlohmann::json::parse(lines.out.substr(0, lines.out.find('\n')));
  EXPECT_EQ(first, object["rows"][0]);
  EXPECT_EQ(with({"--format", "json"}).out, lines.out);  // as it was once called
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
    EXPECT_EQ(json["samples"][2].get<double>(), field(table, row, "sample_3"));
    EXPECT_EQ(json["grid"]["density"][4].get<double>(), field(table, row, "grid_density_5"));
    EXPECT_EQ(json["central"]["0.8"][1].get<double>(), field(table, row, "hi_0.8"));
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
    std::vector<std::string> words{"predict", "run", "data.csv", "--number", "2", "--quiet"};
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
      folder.run_on(content(folder / "data.csv"), {"predict", "run", "-", "--number", "2", "--quiet"});
  EXPECT_TRUE(one == piped.out) << piped.err;
}

TEST(Predict, SeveralTargets) {
  const Folder folder;
  write_table(folder, "data.csv", 60, 1, true);
  train_tiny(folder, {"--target", "y,z", "--epochs", "2"});
  folder.write("new.csv", "x,colour,y,z\n0.5,red,0.4,\n1,blue,3,-3\n");
  const auto table = table_of(
      folder.run({"predict", "run", "new.csv", "--quantiles", "none", "--intervals", "none", "--number", "2"})
          .out);
  ASSERT_EQ(table.size(), 3u);
  EXPECT_EQ(table[0], (std::vector<std::string>{"row", "y.mean", "y.sd", "y.median", "y.mode_1", "y.mode_2",
                                                "y.mode_3", "z.mean", "z.sd", "z.median", "z.mode_1",
                                                "z.mode_2", "z.mode_3", "log_density", "y.sample_1",
                                                "z.sample_1", "y.sample_2", "z.sample_2"}));
  EXPECT_EQ(table[1][13], "");  // one of its targets is missing
  EXPECT_LT(std::stod(table[2][13]), 5);
  const auto row =
      folder.run({"predict", "run", "new.csv", "--json", "--number", "2", "--quiet"}).json()["rows"][0];
  EXPECT_TRUE(row["targets"]["z"]["mean"].is_number());
  EXPECT_TRUE(row["log_density"].is_null());
  EXPECT_EQ(row["samples"][1].size(), 2u);
}

TEST(Predict, ColumnsGoAlong) {
  const Folder folder;
  train_tiny(folder);
  folder.write("new.csv", "id,x,colour,y\na7,0.5,red,0.1\n\"b,8\",1,blue,\n");
  const Outcome kept = folder.run({"predict", "run", "new.csv", "--keep", "id,y", "--quiet"});
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_EQ(kept.out.substr(0, 15), "row,id,y,mean,s");
  EXPECT_NE(kept.out.find("\n0,a7,0.1,"), std::string::npos) << kept.out;
  EXPECT_NE(kept.out.find("\n1,\"b,8\",,"), std::string::npos) << kept.out;
  const auto rows = folder.run({"predict", "run", "new.csv", "--keep", "id,y", "--json"}).json()["rows"];
  EXPECT_EQ(rows[0]["id"], "a7");
  EXPECT_EQ(rows[0]["y"], 0.1);
  EXPECT_TRUE(rows[1]["y"].is_null());
  expect_user_error(folder.run({"predict", "run", "new.csv", "--keep", "idd"}), "has no column 'idd'");
}

TEST(Predict, ATableForPeople) {
  const Folder folder;
  train_tiny(folder);
  folder.write("new.csv", "colour,x\nred,0.5\n");
  const Outcome shown = folder.run({"predict", "run", "new.csv", "--output-format", "table", "--intervals",
                                    "none", "--quantiles", "none"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.out.find("row"), 0u);
  EXPECT_EQ(shown.out.find(','), std::string::npos) << shown.out;
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
