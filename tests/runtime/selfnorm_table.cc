// Regressors and densities in C against the library, and against closed forms.
#include "selfnorm_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "family/regressor/predictive.h"
#include "model/energy/density_file.h"
#include "model/energy/make_energy.h"
#include "model/energy/tilted.h"
#include "proposal/density/make_density.h"
#include "scratch.h"
#include "small_regressors.h"

namespace selfnorm::test {
namespace {

class OpenTable {
 public:
  explicit OpenTable(const std::string& path) {
    EXPECT_EQ(selfnorm_table_open(path.c_str(), &model_), SELFNORM_OK) << selfnorm_error_message();
    if (model_ != nullptr) memory_.resize(selfnorm_table_workspace(model_));
  }
  ~OpenTable() { selfnorm_table_close(model_); }
  operator const selfnorm_table*() const { return model_; }
  void* memory() { return memory_.data(); }
  size_t bytes() const { return memory_.size(); }

 private:
  selfnorm_table* model_ = nullptr;
  std::vector<char> memory_;
};

struct TablePlan {
  const char* name;
  RegressorPlan plan;
  double temperature = 1;
  bool is_bounded = false;
};
void PrintTo(const TablePlan& plan, std::ostream* out) { *out << plan.name; }

class TableRegressors : public testing::TestWithParam<TablePlan> {};

TEST_P(TableRegressors, AgreeWithTheLibrary) {
  const Scratch folder;
  Regressor model = random_regressor(GetParam().plan);
  for (RegressorNetworks& member : model.members) member.temperature = GetParam().temperature;
  if (GetParam().is_bounded) {
    model.mixture.lower = {-0.75};
    model.mixture.upper = {INFINITY};
  }
  const std::string path = folder / "model.safetensors";
  save_regressor(model, path);
  OpenTable open(path);
  ASSERT_EQ(selfnorm_table_columns(open), 3u);
  EXPECT_EQ(selfnorm_table_is_regressor(open), 1);
  size_t length = 0;
  EXPECT_EQ(std::string(selfnorm_table_column(open, 2, &length), 1), "c");

  Frame frame = small_frame(30);
  frame.columns[0].number[7] = 1e6;  // beyond what inputs are held within
  EncodingReport report;
  const EncodedFrame encoded = model.encoder.encode(frame, report);
  std::vector<double> y;
  for (uint64_t i = 0; i < frame.rows; ++i) y.push_back(0.2 + 0.4 * frame.columns[3].number[i]);
  const double levels[] = {0.05, 0.5, 0.95};
  PredictionOptions options;
  options.quantiles = {levels, levels + 3};
  options.quadrature.precision = 1e-6;
  predict(model, encoded.view(), y, options, [&](uint64_t i, Prediction&& expected) {
    SCOPED_TRACE(i);
    const FrameColumn& c = frame.columns[2];
    const bool is_missing = c.level[i] == kMissingLevel;
    const std::string level = is_missing ? "" : c.levels[c.level[i]];
    const double x[] = {frame.columns[0].number[i], frame.columns[1].number[i],
                        is_missing ? NAN : selfnorm_table_level(open, 2, level.data(), level.size())};
    double raw = 0, exact = 0, quantiles[3];
    selfnorm_prediction found;
    ASSERT_EQ(
        selfnorm_table_log_density_of(open, x, 3, y[i], SELFNORM_RAW, open.memory(), open.bytes(), &raw),
        SELFNORM_OK);
    ASSERT_EQ(
        selfnorm_table_log_density_of(open, x, 3, y[i], SELFNORM_EXACT, open.memory(), open.bytes(), &exact),
        SELFNORM_OK);
    ASSERT_EQ(selfnorm_table_predict(open, x, 3, levels, 3, open.memory(), open.bytes(), &found, quantiles),
              SELFNORM_OK);
    const CoordinatePrediction& line = expected.coordinates.at(0);
    ASSERT_TRUE(expected.log_density && expected.log_density_raw);
    if (std::isfinite(*expected.log_density)) {
      EXPECT_NEAR(raw, *expected.log_density_raw, 1e-4);
      EXPECT_NEAR(exact, *expected.log_density, 1e-4);
    } else {
      EXPECT_EQ(raw, *expected.log_density_raw);
      EXPECT_EQ(exact, *expected.log_density);
    }
    EXPECT_NEAR(found.mean, line.mean, 1e-3 * line.deviation);
    EXPECT_NEAR(found.deviation, line.deviation, 2e-3 * line.deviation);
    for (size_t q = 0; q < 3; ++q) EXPECT_NEAR(quantiles[q], line.quantiles[q], 1e-3 * line.deviation);
  });
}

INSTANTIATE_TEST_SUITE_P(Plans, TableRegressors,
                         testing::Values(TablePlan{"Tilted", {}}, TablePlan{"Mixture", {.tilted = false}},
                                         TablePlan{"OwnFeatures", {.own_features = true}},
                                         TablePlan{"Ensemble", {.members = 3}}, TablePlan{"Warm", {}, 1.5},
                                         TablePlan{"Bounded", {}, 1, true}),
                         [](const auto& plan) { return std::string(plan.param.name); });

TEST(Table, ANormalDensityHasItsClosedForm) {
  const Scratch folder;
  Regressor model = linear_gaussian();
  Frame frame;
  frame.file = "x.csv";
  frame.rows = 2;
  FrameColumn column;
  column.name = "x";
  column.number = {-1, 1};
  frame.columns = {column};
  std::vector<std::string> notes;
  model.encoder = FrameEncoder(frame, std::vector<uint64_t>{0, 1}, {}, true, notes);
  save_regressor(model, folder / "model.safetensors");
  OpenTable open(folder / "model.safetensors");
  const double x = 0.5, level = 0.975;  // standardised as it is
  double log_p = 0, quantile = 0;
  selfnorm_prediction found;
  ASSERT_EQ(selfnorm_table_predict(open, &x, 1, &level, 1, open.memory(), open.bytes(), &found, &quantile),
            SELFNORM_OK);
  EXPECT_NEAR(found.mean, 10 + 4 * 2 * 0.5, 1e-5);
  EXPECT_NEAR(found.deviation, 4 * 0.5, 1e-5);
  EXPECT_NEAR(quantile, found.mean + 1.959963985 * 2, 1e-4);
  ASSERT_EQ(
      selfnorm_table_log_density_of(open, &x, 1, 16, SELFNORM_EXACT, open.memory(), open.bytes(), &log_p),
      SELFNORM_OK);
  EXPECT_NEAR(log_p, -0.5 - std::log(2 * std::sqrt(2 * M_PI)), 1e-5);
}

TEST(Table, DensitiesAgreeWithTheLibrary) {
  const Scratch folder;
  RandomStream random(4);
  std::vector<float> rows(400);
  for (float& v : rows) v = static_cast<float>(random.normal());
  const Points points{rows.data(), 200, 2};
  for (const std::string proposal :
       {"mixture:3", "gaussian", "gaussian:diagonal", "kde", "student-t:5", "uniform"})
    for (const bool is_zero : {false, true}) {
      SCOPED_TRACE(proposal);
      DensityModel model;
      EnergyPlan plan;
      plan.word = "mlp:6,6";
      plan.dimension = 2;
      plan.mlp.fourier = 3;
      plan.mlp.residual = true;
      model.energy = is_zero ? make_zero_energy(2) : make_energy(plan);
      for (float& theta : model.energy->parameters()) theta += static_cast<float>(random.normal() / 8);
      model.energy->parameters_changed();
      model.proposal = fit_density(proposal, points);
      model.base = model.proposal;
      model.energy = std::make_unique<TiltedEnergy>(std::move(model.energy), model.base);
      model.log_normalizer = 1.0 / 3;
      model.normalizer_kind = "learned";
      model.standardisation = {{0.5, -1}, {2, 0.25}};
      const std::string path = folder / "model.safetensors";
      save_density(model, path);
      OpenTable open(path);
      EXPECT_EQ(selfnorm_table_is_regressor(open), 0);
      const Points some = points.slice(0, 20);
      std::vector<float> u(40);
      std::vector<double> s(20);
      model.standardisation.apply(some, u);
      model.energy->score({u.data(), 20, 2}, s);
      for (uint64_t i = 0; i < 20; ++i) {
        const double x[] = {some.row(i)[0], some.row(i)[1]};
        double found = 0;
        ASSERT_EQ(selfnorm_table_log_density(open, x, 2, open.memory(), open.bytes(), &found), SELFNORM_OK);
        if (std::isinf(s[i]))
          EXPECT_EQ(found, s[i]);
        else
          EXPECT_NEAR(found, s[i] - 1.0 / 3 - std::log(2) - std::log(0.25), 1e-4 + 1e-5 * std::abs(s[i]));
      }
    }
}

TEST(Table, MistakesAreSaid) {
  const Scratch folder;
  save_regressor(random_regressor({}), folder / "model.safetensors");
  OpenTable open(folder / "model.safetensors");
  const double x[] = {0, 0, 1}, level[] = {1.5};
  double out = 0;
  selfnorm_prediction found;
  const auto status = [&](const double* at, size_t n, double y, int kind, size_t bytes) {
    return selfnorm_table_log_density_of(open, at, n, y, kind, open.memory(), bytes, &out);
  };
  EXPECT_EQ(status(x, 2, 0, SELFNORM_RAW, open.bytes()), SELFNORM_ERROR_DIMENSION);
  EXPECT_EQ(status(x, 3, 0, SELFNORM_AMORTISED, open.bytes()), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(status(x, 3, 0, SELFNORM_RAW, 8), SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(status(x, 3, NAN, SELFNORM_RAW, open.bytes()), SELFNORM_ERROR_NOT_FINITE);
  const double bad_level[] = {0, 0, 7}, infinite[] = {INFINITY, 0, 1};
  EXPECT_EQ(status(bad_level, 3, 0, SELFNORM_RAW, open.bytes()), SELFNORM_ERROR_INDEX);
  EXPECT_EQ(status(infinite, 3, 0, SELFNORM_RAW, open.bytes()), SELFNORM_ERROR_NOT_FINITE);
  EXPECT_EQ(selfnorm_table_predict(open, x, 3, level, 1, open.memory(), open.bytes(), &found, &out),
            SELFNORM_ERROR_ARGUMENT);
  EXPECT_EQ(selfnorm_table_log_density(open, x, 3, open.memory(), open.bytes(), &out), SELFNORM_ERROR_FAMILY);
  EXPECT_EQ(selfnorm_table_level(open, 2, "never", 5), 0);
  EXPECT_TRUE(std::isnan(selfnorm_table_level(open, 0, "never", 5)));

  save_regressor(random_regressor({.dimension = 2}), folder / "two.safetensors");
  selfnorm_table* none = nullptr;
  EXPECT_EQ(selfnorm_table_open((folder / "two.safetensors").c_str(), &none), SELFNORM_ERROR_FORMAT);
  EXPECT_NE(std::string(selfnorm_error_message()).find("one target"), std::string::npos);
  EXPECT_EQ(selfnorm_table_open((folder / "absent").c_str(), &none), SELFNORM_ERROR_IO);
}

// A file cut short or with a byte changed opens or is refused, and never ends the process.
TEST(Table, DamagedFilesAreRefusedOrOpen) {
  const Scratch folder;
  save_regressor(random_regressor({.members = 2}), folder / "model.safetensors");
  std::ifstream in(folder / "model.safetensors", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  RandomStream random(9);
  std::vector<double> aligned(bytes.size() / sizeof(double) + 1);
  auto* memory = reinterpret_cast<char*>(aligned.data());
  for (int i = 0; i < 300; ++i) {
    std::copy(bytes.begin(), bytes.end(), memory);
    memory[random.below(bytes.size())] = static_cast<char>(random.below(256));
    const size_t size = i % 3 == 0 ? random.below(bytes.size()) : bytes.size();
    selfnorm_table* model = nullptr;
    if (selfnorm_table_open_memory(memory, size, &model) != SELFNORM_OK) continue;
    std::vector<char> work(selfnorm_table_workspace(model));
    const std::vector<double> x(selfnorm_table_columns(model));
    double out = 0;
    selfnorm_table_log_density_of(model, x.data(), x.size(), 0, SELFNORM_EXACT, work.data(), work.size(),
                                  &out);
    selfnorm_table_close(model);
  }
}

}  // namespace
}  // namespace selfnorm::test
