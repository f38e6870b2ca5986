// The experiments of densities, on reduced sizes: what they say has to follow from their numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "experiments/document.h"
#include "experiments/experiment.h"
#include "experiments/reduced_run.h"
#include "math/random.h"
#include "scratch.h"

namespace selfnorm {
namespace {

using test::column;
using test::holds;
using test::reduced;

TEST(DensityExperiments, ToysJudgeEveryTargetByItsNumbers) {
  double last = 0;
  ExperimentOptions options = reduced();
  options.progress = [&](double share) {
    EXPECT_GE(share, last);
    last = share;
  };
  const Record record = run_density_toys(options);
  EXPECT_NEAR(last, 1, 1e-9);
  const Table& judged = record.tables[0];
  size_t met = 0;
  for (const auto& row : judged.rows) {
    const std::string toy = std::get<std::string>(row[0]);
    const bool is_met = record.number("snl_gap_" + toy) <= std::get<double>(row[1]);
    EXPECT_EQ(std::get<std::string>(row[3]), is_met ? "MET" : "MISSED");
    met += is_met ? 1 : 0;
  }
  EXPECT_EQ(record.number("gaps_met"), static_cast<double>(met));
  // Every gap is a KL divergence, up to the noise of the test points.
  const size_t gap = column(record.data, "gap"), error = column(record.data, "gap_error");
  for (const auto& row : record.data.rows)
    EXPECT_GT(std::get<double>(row[gap]), -5 * std::get<double>(row[error]) - 0.002);
  EXPECT_EQ(record.more_figures[0].second.panels.size(), 2 * judged.rows.size());
  EXPECT_EQ(record.looks.size(), 1 + record.more_figures.size());
  EXPECT_TRUE(holds(document_section(record, "f", "density"), "density-toys-densities.svg"));
}

TEST(DensityExperiments, SensitivityHasEveryLine) {
  const Record record = run_density_sensitivity(reduced());
  EXPECT_EQ(record.tables.size(), 3u);
  EXPECT_EQ(record.figure.panels.size(), 3u);
  EXPECT_EQ(record.figure.panels[0].series.size(), 5u);
  // 2 dimensions x 5 lines, 2 numbers of samples x 3, 3 widths x 3; 2 seeds each.
  EXPECT_EQ(record.data.rows.size(), 2u * (10 + 6 + 9));
}

// Nothing beats maximum likelihood in its own likelihood, and a trained one is near it.
TEST(DensityExperiments, IsingComesNearMaximumLikelihood) {
  const Record record = run_density_ising(reduced());
  EXPECT_LT(record.number("exact_kl_6"), 0.05);
  EXPECT_LT(record.number("snl_kl_6"), record.number("exact_kl_6") + 0.1);
  EXPECT_LT(std::abs(record.number("snl_b_error_6")), 0.1);
}

TEST(DensityExperiments, FinishedTrainingsAreNotRepeated) {
  const Scratch folder;
  ExperimentOptions options = reduced();
  options.cells = folder / "x.cells.jsonl";
  const std::string first = csv_text(run_density_ising(options).data);
  const auto size = std::filesystem::file_size(options.cells);
  EXPECT_EQ(csv_text(run_density_ising(options).data), first);  // the seconds as well
  EXPECT_EQ(std::filesystem::file_size(options.cells), size);
  options.seed = 2;
  EXPECT_NE(csv_text(run_density_ising(options).data), first);
}

TEST(DensityExperiments, NumbersDoNotDependOnTheNumberOfThreads) {
  const auto run = [](int threads) {
    ExperimentOptions options = reduced();
    options.threads = threads;
    Table data = run_density_ising(options).data;
    for (auto& row : data.rows) row.pop_back();  // the seconds
    data.columns.pop_back();
    return csv_text(data);
  };
  EXPECT_EQ(run(1), run(2));
}

TEST(DensityExperiments, TablesThatAreNotThereAreSaidToBeMissing) {
  const Record record = run_density_tables(reduced());
  EXPECT_TRUE(holds(record.measured, "NOT MEASURED: power-plant, kin8nm, protein, letter"));
  EXPECT_EQ(record.number("tables"), 0);
  EXPECT_TRUE(holds(document_section(record, "f", "density"), "NOT MEASURED"));
  EXPECT_FALSE(holds(document_section(record, "f", "density"), ".svg"));
}

TEST(DensityExperiments, TablesAreMeasuredWhereTheyAre) {
  const Scratch folder;
  std::filesystem::create_directories(folder / "uci-regression/kin8nm");
  {
    std::ofstream out(folder / "uci-regression/kin8nm/data.txt");
    RandomStream random(1);
    for (int i = 0; i < 400; ++i) {
      const double x = random.normal(), sign = random.uniform() < 0.5 ? -1 : 1;
      out << x << " " << sign * 2 + 0.3 * random.normal() + x << "\n";
    }
  }
  ExperimentOptions options = reduced();
  options.data = folder / "";
  const Record record = run_density_tables(options);
  EXPECT_EQ(record.number("tables"), 1);
  EXPECT_TRUE(holds(record.measured, "NOT MEASURED: power-plant, protein, letter"));
  EXPECT_NO_THROW(record.number("gain_kin8nm"));  // NaN where log Z is not trusted, as after so few steps
  EXPECT_EQ(record.data.rows.size(), 4u);
  // Two clusters: the mixture beats the Gaussian.
  const size_t ll = column(record.data, "ll");
  EXPECT_GT(std::get<double>(record.data.rows[1][ll]), std::get<double>(record.data.rows[0][ll]) + 0.2);
}

}  // namespace
}  // namespace selfnorm
