#include <gtest/gtest.h>

#include <sstream>

#include "cli/regressor_data.h"
#include "selfnorm/runtime/checksum.h"

namespace selfnorm::cli {
namespace {

TEST(RegressorEvaluate, TableAndJson) {
  const Folder folder;
  train_tiny(folder);
  ASSERT_EQ(folder
                .run({"train", "regressor", "data.csv", "--objective", "mdn", "--epochs", "3", "--features",
                      "8", "--quiet", "--out", "mdn", "--ensemble", "1"})
                .code,
            0);
  write_table(folder, "test.csv", 100, 2);
  const Outcome text = folder.run({"evaluate", "run", "mdn", "test.csv", "--quiet"});
  ASSERT_EQ(text.code, 0) << text.err;
  for (const char* word : {"run", "mdn", "NLL with b", "rms(b - A)", "CRPS", "MAE", "in 95%", "CERTIFIED"})
    EXPECT_NE(text.out.find(word), std::string::npos) << word << "\n" << text.out;
  const auto both = folder.run({"evaluate", "run", "mdn", "test.csv", "--json", "--quiet"}).json()["models"];
  ASSERT_EQ(both.size(), 2u);
  const auto& report = both[0];
  for (const char* key : {"nll", "nll_error", "nll_b", "crps", "rmse", "mae", "quadrature_error", "tail"})
    EXPECT_TRUE(report[key].is_number()) << key << report;
  EXPECT_EQ(report["rows"], 100);
  uint64_t counted = 0;
  for (const auto& bin : report["pit"]["histogram"]) counted += bin.get<uint64_t>();
  EXPECT_EQ(counted, 100u);
  EXPECT_EQ(report["coverage"].size(), 4u);
  EXPECT_EQ(report["certificate"]["n"], 100);
  const auto& b = report["b_minus_a"];
  EXPECT_NEAR(b["mean"].get<double>(), report["nll_b"].get<double>() - report["nll"].get<double>(), 1e-9);
  EXPECT_LE(b["min"], b["quantiles"]["0.5"]);
  EXPECT_LE(b["quantiles"]["0.5"], b["max"]);
  EXPECT_GE(b["max_abs"], b["rms"]);
  // A mixture is normalised as it is.
  EXPECT_EQ(both[1]["b_minus_a"]["rms"], 0);
  EXPECT_EQ(both[1]["nll"], both[1]["nll_b"]);
}

TEST(RegressorEvaluate, RowsWithAPartInTheModel) {
  const Folder folder;
  write_table(folder, "data.csv", 60);
  write_table(folder, "valid.csv", 40, 2);
  train_tiny(folder, {"--valid", "valid.csv", "--epochs", "2"});
  const std::string none = "certificate  none: the model was trained on these rows";
  EXPECT_NE(folder.run({"evaluate", "run", "data.csv", "--quiet"}).out.find(none), std::string::npos);
  const auto trained = folder.run({"evaluate", "run", "data.csv", "--json", "--quiet"}).json();
  EXPECT_EQ(trained["trained"], true);
  EXPECT_FALSE(trained.contains("certificate"));
  const auto chose = folder.run({"evaluate", "run", "valid.csv", "--json", "--quiet"}).json();
  EXPECT_EQ(chose["chose_step"], true);
  EXPECT_FALSE(chose.contains("trained"));
}

TEST(RegressorEvaluate, ScoresAndAudit) {
  const Folder folder;
  train_tiny(folder);
  const auto report = folder.run({"evaluate", "run", "data.csv", "--json", "--quiet"}).json();
  const auto mean = [](const nlohmann::json& scores) {
    double sum = 0;
    for (const auto& row : scores["rows"]) sum += row["log_prob"].get<double>();
    return sum / static_cast<double>(scores["rows"].size());
  };
  const auto raw = folder.run({"score", "run", "data.csv", "--raw", "--json", "--quiet"}).json();
  EXPECT_EQ(raw["kind"], "amortised");
  EXPECT_NEAR(-mean(raw), report["nll_b"].get<double>(), 1e-6);
  const auto exact = folder.run({"score", "run", "data.csv", "--exact", "--json", "--quiet"}).json();
  EXPECT_NEAR(-mean(exact), report["nll"].get<double>(), 1e-6);
  EXPECT_EQ(folder.run({"score", "run", "data.csv", "--raw", "--quiet"}).out.rfind("# amortised", 0), 0u);
  EXPECT_EQ(folder.run_on(content(folder / "data.csv"), {"score", "run", "--json", "--quiet"}).json(), exact);

  const Outcome audit = folder.run({"audit", "run", "data.csv", "--json", "--quiet"});
  ASSERT_EQ(audit.code, 0) << audit.err;
  EXPECT_NEAR(audit.json()["log_z"]["rms"].get<double>(), report["b_minus_a"]["rms"].get<double>(), 1e-12);
  EXPECT_EQ(audit.json()["nll_exact"], report["nll"]);
  EXPECT_EQ(folder.run({"audit", "run", "data.csv", "--require", "eps=1e-9", "--quiet"}).code, 3);
  EXPECT_EQ(folder.run({"audit", "run", "data.csv", "--require", "eps=9,rho=0.1", "--quiet"}).code, 0);
  expect_user_error(folder.run({"audit", "run", "data.csv", "--raw"}), "--raw: run is a regressor");

  folder.write("inputs.csv", "x,colour\n0.5,red\n-1,blue\n");
  const Outcome inputs = folder.run({"audit", "run", "inputs.csv", "--json", "--quiet"});
  ASSERT_EQ(inputs.code, 0) << inputs.err;
  EXPECT_EQ(inputs.json()["n"], 2);
  EXPECT_FALSE(inputs.json().contains("nll_exact"));
}

TEST(RegressorEvaluate, TargetsHaveToBeThere) {
  const Folder folder;
  train_tiny(folder, {"--lower", "-90", "--upper", "90"});
  folder.write("blind.csv", "x,colour\n1,red\n");
  folder.write("gap.csv", "x,colour,y\n1,red,2\n1,blue,\n");
  folder.write("far.csv", "x,colour,y\n1,red,2\n1,blue,91\n");
  expect_user_error(folder.run({"evaluate", "run", "blind.csv"}), "y");
  expect_user_error(folder.run({"evaluate", "run", "gap.csv"}),
                    "gap.csv:3: found no target (y) in 1 of 2 rows");
  expect_user_error(folder.run({"evaluate", "run", "gap.csv", "--timing"}), "--timing: run is a regressor");
  expect_user_error(folder.run({"evaluate", "run", "data.csv", "--samples", "9"}),
                    "--samples: run is a regressor");
  expect_user_error(folder.run({"evaluate", "run", "data.csv", "--feature", "x"}), "--draw DIR");
  const auto far = folder.run({"evaluate", "run", "far.csv", "--json", "--quiet"}).json();
  EXPECT_EQ(far["outside"], 1);
  EXPECT_EQ(far["zero_density"], 0);
  EXPECT_TRUE(far["nll"].is_null());
}

TEST(RegressorEvaluate, AbsurdTargetsHaveDensityZero) {
  const Folder folder;
  train_tiny(folder);
  folder.write("absurd.csv", "x,colour,y\n1,red,2\n1,blue,1e38\n1,blue,-1e300\n");
  const auto report = folder.run({"evaluate", "run", "absurd.csv", "--json", "--quiet"}).json();
  EXPECT_EQ(report["outside"], 0);
  EXPECT_EQ(report["zero_density"], 2);
  EXPECT_TRUE(report["nll"].is_null());
  EXPECT_GT(report["rmse"].get<double>(), 1e299);
  const Outcome text = folder.run({"evaluate", "run", "absurd.csv", "--quiet"});
  EXPECT_NE(text.out.find("2 targets of density 0"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("nan"), std::string::npos) << text.out;
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--exact"}}) {
    std::vector<std::string> words{"score", "run", "absurd.csv", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome scored = folder.run(words);
    EXPECT_NE(scored.out.find("\n1\t-inf\t"), std::string::npos) << scored.out << scored.err;
  }
  const Outcome predicted = folder.run({"predict", "run", "absurd.csv", "--log-density", "both"});
  EXPECT_NE(predicted.out.find(",-inf,-inf\n"), std::string::npos) << predicted.out << predicted.err;
}

TEST(RegressorEvaluate, PicturesWithTheirData) {
  const Folder folder;
  train_tiny(folder);
  const Outcome drawn =
      folder.run({"evaluate", "run", "data.csv", "--draw", "pictures", "--feature", "x", "--json"});
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  const bool has_gnuplot = std::system("command -v gnuplot > /dev/null") == 0;
  EXPECT_EQ(drawn.json()["pictures"].size(), has_gnuplot ? 13u : 7u) << drawn.err;
  for (const std::string name : {"pit", "coverage", "normalizer", "fan", "heat", "profile"}) {
    const std::string base = folder / ("pictures/" + name);
    const std::string data = content(base + ".csv");
    EXPECT_GT(std::count(data.begin(), data.end(), '\n'), 10) << name;
    EXPECT_EQ(data.find("nan"), std::string::npos) << name;
    if (!has_gnuplot) continue;
    const std::string svg = content(base + ".svg");
    EXPECT_NE(svg.find("</svg>"), std::string::npos) << name;
    EXPECT_LT(svg.size(), 200'000u) << name;
  }
  // The density integrates to 1 along every column of the heat map.
  std::istringstream heat(content(folder / "pictures/heat.csv"));
  std::map<double, std::vector<std::pair<double, double>>> columns;
  std::string line;
  std::getline(heat, line);
  EXPECT_EQ(line, "x,y,density");
  for (char comma; std::getline(heat, line);) {
    std::istringstream fields(line);
    double x = 0, y = 0, density = 0;
    fields >> x >> comma >> y >> comma >> density;
    columns[x].emplace_back(y, density);
  }
  EXPECT_EQ(columns.size(), 100u);
  for (const auto& [x, cells] : columns) {
    double mass = 0;
    for (const auto& [y, density] : cells) mass += density * (cells[1].first - cells[0].first);
    EXPECT_NEAR(mass, 1, 0.05) << x;
  }
  expect_user_error(folder.run({"evaluate", "run", "data.csv", "--draw", "p", "--feature", "colour"}),
                    "the column is categorical");
  expect_user_error(folder.run({"evaluate", "run", "data.csv", "--draw", "p", "--feature", "w"}),
                    "its columns are x, colour");
}

TEST(RegressorEvaluate, WithinServesACertifiedNormalizer) {
  const Folder folder;
  write_table(folder, "data.csv", 300);
  write_table(folder, "valid.csv", 1000, 2);
  ASSERT_EQ(folder.run(tiny_regressor("data.csv", "run", {"--valid", "valid.csv", "--quiet"})).code, 0);
  const auto rung = folder.run({"info", "run", "--json"}).json()["audit"]["ladder"]["rungs"][0];
  EXPECT_EQ(rung["name"], "amortised");
  const double eps = rung["eps"];
  const auto kind_within = [&](double within) {
    return folder
        .run({"score", "run", "valid.csv", "--within", fmt::format("{}", within), "--json", "--quiet"})
        .json();
  };
  const auto served = kind_within(eps * 1.01 + 1e-9);
  EXPECT_EQ(served["kind"], "amortised");
  EXPECT_EQ(served["eps"], eps);
  ASSERT_GT(eps, 1e-6);
  EXPECT_EQ(kind_within(eps * 0.5)["kind"], "quadrature");
  EXPECT_EQ(folder.run({"score", "run", "valid.csv", "--exact", "--json", "--quiet"}).json()["kind"],
            "quadrature");
}

TEST(RegressorEvaluate, ADamagedRecordIsTheFilesFault) {
  const Folder folder;
  write_table(folder, "data.csv", 300);
  write_table(folder, "valid.csv", 300, 2);
  ASSERT_EQ(folder.run(tiny_regressor("data.csv", "run", {"--valid", "valid.csv", "--quiet"})).code, 0);
  const std::string path = folder / "run/model.safetensors", bytes = content(path);
  const size_t at = bytes.find("amortised", bytes.find("rungs"));
  ASSERT_NE(at, std::string::npos);
  for (const auto& [name, text] :
       {std::pair{"Amortised", "found a rung named"}, {"amortisee", "expected amortised"}}) {
    std::string changed = bytes;  // by someone who knows how checksums are made
    const size_t digits = runtime::kChecksumOffset;
    changed.replace(at, 9, name).replace(digits, 16, std::string(16, '0'));
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(changed))};
    const runtime::ChecksumDigits made = runtime::checksum_of(parts);
    folder.write("run/model.safetensors", changed.replace(digits, 16, made.data(), made.size()));
    expect_user_error(folder.run({"score", "run", "valid.csv"}), text);
  }
}

}  // namespace
}  // namespace selfnorm::cli
