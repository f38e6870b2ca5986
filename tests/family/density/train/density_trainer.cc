#include "family/density/train/density_trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "family/density/train/density_options.h"
#include "interrupter.h"
#include "math/random.h"
#include "model/safetensors_writer.h"
#include "normalizer/point_enumeration.h"
#include "normalizer/quadrature/quadrature.h"
#include "normalizer/sampling/importance_log_z.h"
#include "random_data.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/mapped_file.h"
#include "selfnorm/runtime/safetensors.h"

namespace selfnorm {
namespace {

// Two unequal normals on a line: what is learned can be compared with the truth.
constexpr double kShare = 0.3, kFirst = -1.5, kSecond = 1.0, kWidth = 0.4;

double truth(double x) {
  const auto normal = [x](double mean) {
    const double z = (x - mean) / kWidth;
    return std::exp(-0.5 * z * z) / (kWidth * std::sqrt(2 * M_PI));
  };
  return kShare * normal(kFirst) + (1 - kShare) * normal(kSecond);
}

std::unique_ptr<PointSource> two_normals(uint64_t rows, uint64_t seed = 1) {
  RandomStream random(seed);
  std::vector<float> values(rows);
  for (float& x : values)
    x = static_cast<float>((random.uniform() < kShare ? kFirst : kSecond) + kWidth * random.normal());
  return make_point_source(1, std::move(values));
}

DensityOptions quick(const std::string& objective) {
  DensityOptions o;
  o.energy = "mlp:16,16";
  o.fourier = "0";
  o.objective = objective;
  o.proposal = "gaussian";
  o.samples = 256;
  o.batch = 128;
  o.steps = 600;
  o.learning_rate = 5e-3;
  o.normalizer_steps = 20;
  o.langevin_step = 0.3;
  o.noise = 0.15;
  return o;
}

// KL(truth || model) by a grid, the model normalised by quadrature.
double divergence(const DensityModel& model) {
  const double log_z = quadrature_log_z(*model.energy).value;
  double sum = 0;
  for (double x = -4; x < 4; x += 0.01) {
    const auto raw = static_cast<float>(x);
    float u = raw;
    model.standardisation.apply({&raw, 1, 1}, {&u, 1});
    double s = 0;
    model.energy->score({&u, 1, 1}, {&s, 1});
    const double p = truth(x), log_p = s - log_z - model.standardisation.log_volume();
    if (p > 1e-12) sum += 0.01 * p * (std::log(p) - log_p);
  }
  return sum;
}

// Of the parameters and everything else that is stored.
void expect_same(const DensityModel& a, const DensityModel& b) {
  const auto before = std::as_const(*a.energy).parameters(), after = std::as_const(*b.energy).parameters();
  EXPECT_EQ(std::vector(before.begin(), before.end()), std::vector(after.begin(), after.end()));
  EXPECT_EQ(a.proposal->record().values, b.proposal->record().values);
  EXPECT_EQ(a.log_normalizer, b.log_normalizer);
  EXPECT_EQ(a.training_json, b.training_json);
}

class EveryDensityObjective : public testing::TestWithParam<std::string> {};

TEST_P(EveryDensityObjective, FindsTwoNormalsAndTheirNormalizer) {
  const auto data = two_normals(3000);
  TrainObserver observer;
  const DensityResult result =
      train_density(*data, numbers(0, 2700), numbers(2700, 3000), quick(GetParam()), {}, observer);
  EXPECT_FALSE(result.diverged);
  // Langevin without correction and smoothed data are biased.
  const bool is_biased = GetParam() == "cd" || GetParam() == "pcd" || GetParam() == "dsm";
  EXPECT_LT(divergence(result.model), is_biased ? 0.2 : 0.03);
  EXPECT_GT(divergence(result.model), -1e-3);
  EXPECT_NEAR(result.model.log_normalizer, quadrature_log_z(*result.model.energy).value, 0.02);
}

TEST_P(EveryDensityObjective, InterruptedAndResumedIsUninterrupted) {
  const auto data = two_normals(600);
  DensityOptions options = quick(GetParam());
  options.steps = 30;
  options.patience = 0;
  TrainObserver observer;
  const DensityResult whole = train_density(*data, numbers(0, 500), numbers(500, 600), options, {}, observer);
  const std::string path = testing::TempDir() + "density_resume." + GetParam();
  std::filesystem::remove(path);
  Interrupter interrupter(17);
  const DensityResult part = train_density(*data, numbers(0, 500), numbers(500, 600), options,
                                           {.path = path, .seconds = 1e9, .resume = false}, interrupter);
  EXPECT_TRUE(part.interrupted);
  options.threads = 2;
  const DensityResult rest = train_density(*data, numbers(0, 500), numbers(500, 600), options,
                                           {.path = path, .seconds = 1e9, .resume = true}, observer);
  expect_same(rest.model, whole.model);
}

TEST(DensityTrainer, AnEnergyInAFileIsTheSameFromAnyFolder) {
  const auto data = two_normals(10);
  DensityOptions here = quick("snl"), there = here, other = here;
  here.energy = "net.pt";
  there.energy = "/data/net.pt";
  other.energy = "/data/nets.pt";
  const auto mark = [&](const DensityOptions& options) {
    return density_fingerprint(*data, numbers(0, 8), numbers(8, 10), options);
  };
  EXPECT_EQ(mark(here), mark(there));
  EXPECT_NE(mark(here), mark(other));
}

TEST(DensityTrainer, OtherRowsAreAnotherRun) {
  const auto data = two_normals(10);
  const DensityOptions options = quick("snl");
  const std::string mark = density_fingerprint(*data, numbers(0, 8), numbers(8, 10), options);
  EXPECT_EQ(mark, density_fingerprint(*data, numbers(0, 8), numbers(8, 10), options));
  EXPECT_NE(mark, density_fingerprint(*data, numbers(1, 8), numbers(8, 10), options));
  EXPECT_NE(mark, density_fingerprint(*data, numbers(0, 8), numbers(8, 9), options));
  EXPECT_NE(mark, density_fingerprint(*data, numbers(0, 9), numbers(9, 10), options));
}

// At any step, also before the first and after the last; with a proposal that is learned.
TEST(DensityTrainer, ResumesFromEveryStep) {
  const auto data = two_normals(600);
  DensityOptions options = quick("snl");
  options.steps = 12;
  options.normalizer_steps = 3;
  options.learn_proposal = "both";
  const std::vector<uint64_t> train = numbers(0, 500), valid = numbers(500, 600);
  TrainObserver observer;
  const DensityResult whole = train_density(*data, train, valid, options, {}, observer);
  const std::string path = testing::TempDir() + "density_resume_every";
  for (uint64_t step = 1; step <= 15; ++step) {
    std::filesystem::remove(path);
    Interrupter interrupter(step);
    const DensityResult part = train_density(*data, train, valid, options,
                                             {.path = path, .seconds = 1e9, .resume = false}, interrupter);
    EXPECT_TRUE(part.interrupted) << step;
    const DensityResult rest =
        train_density(*data, train, valid, options, {.path = path, .seconds = 1e9, .resume = true}, observer);
    expect_same(rest.model, whole.model);
  }
}

// The first release knew nothing of draws that are lost.
TEST(DensityTrainer, RefusesACheckpointThatLacksARecord) {
  const auto data = two_normals(200);
  DensityOptions options = quick("is");
  options.steps = 20;
  const std::string path = testing::TempDir() + "density_resume_lacking";
  std::filesystem::remove(path);
  Interrupter interrupter(5);
  ASSERT_TRUE(train_density(*data, numbers(0, 200), {}, options,
                            {.path = path, .seconds = 1e9, .resume = false}, interrupter)
                  .interrupted);
  {
    const runtime::MappedFile file(path);
    const runtime::Safetensors parsed = runtime::parse_safetensors(file.bytes(), path);
    Metadata metadata(parsed.metadata.begin(), parsed.metadata.end());
    metadata.erase("selfnorm.checksum");
    ASSERT_EQ(metadata.erase("seen"), 1u);
    write_safetensors(path + ".lacking", parsed.tensors, metadata);
  }
  TrainObserver observer;
  try {
    train_density(*data, numbers(0, 200), {}, options,
                  {.path = path + ".lacking", .seconds = 1e9, .resume = true}, observer);
    FAIL() << "resumed without the record";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("seen"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryDensityObjective,
                         testing::Values("snl", "is", "nce", "ranking-nce", "cd", "pcd", "dsm", "ssm", "sm"),
                         [](const auto& p) {
                           std::string name = p.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(DensityTrainer, ScoresAreLogDensitiesWhenTheNormalizerIsZero) {
  const auto data = two_normals(3000);
  DensityOptions options = quick("snl");
  options.normalizer = "zero";
  TrainObserver observer;
  const DensityResult result = train_density(*data, numbers(0, 3000), {}, options, {}, observer);
  EXPECT_EQ(result.model.log_normalizer, 0);
  EXPECT_NEAR(quadrature_log_z(*result.model.energy).value, 0, 0.05);
}

// b as trained, before any calibration.
TEST(DensityTrainer, TheLearnedNormalizerIsLogZ) {
  const auto data = two_normals(3000);
  for (const char* base : {"proposal", "none"}) {
    DensityOptions options = quick("snl");
    options.base = base;
    options.proposal = "gaussian";
    options.calibrate = false;
    TrainObserver observer;
    const DensityResult result = train_density(*data, numbers(0, 3000), {}, options, {}, observer);
    EXPECT_EQ(result.model.normalizer_kind, "constant");
    EXPECT_EQ(result.model.log_normalizer, result.learned_normalizer);
    if (std::string(base) == "proposal") {
      EXPECT_NEAR(result.learned_normalizer, quadrature_log_z(*result.model.energy).value, 0.05);
    }
  }
}

TEST(DensityTrainer, AProposalThatIsLearnedComesCloserToTheModel) {
  const auto data = two_normals(3000);
  const std::vector<uint64_t> rows = numbers(0, 3000);
  std::vector<float> points(3000);
  data->read(rows, points);
  for (const char* how : {"data", "kl", "both"}) {
    DensityOptions options = quick("snl");
    options.fit.scale = 3;
    const auto likelihood = [&](const DensityModel& model) {
      std::vector<float> u(3000);
      model.standardisation.apply({points.data(), 3000, 1}, u);
      std::vector<double> log_q(3000);
      model.proposal->log_prob({u.data(), 3000, 1}, log_q);
      return std::accumulate(log_q.begin(), log_q.end(), 0.0) / 3000;
    };
    TrainObserver observer;
    const double fixed = likelihood(train_density(*data, rows, {}, options, {}, observer).model);
    options.learn_proposal = how;
    const DensityResult result = train_density(*data, rows, {}, options, {}, observer);
    EXPECT_GT(likelihood(result.model), fixed + 0.3) << how;
    EXPECT_LT(divergence(result.model), 0.03) << how;
  }
}

TEST(DensityTrainer, TheProposalAloneIsADensity) {
  const auto data = two_normals(3000);
  DensityOptions options = quick("fit");
  options.proposal = "mixture:2";
  options.fit.defensive = 0;
  TrainObserver observer;
  const DensityResult result = train_density(*data, numbers(0, 3000), {}, options, {}, observer);
  EXPECT_EQ(result.model.log_normalizer, 0);
  EXPECT_NEAR(quadrature_log_z(*result.model.energy).value, 0, 1e-3);
  EXPECT_LT(divergence(result.model), 0.01);
}

// x1 = x2 = x3 most of the time.
TEST(DensityTrainer, BinaryVectors) {
  RandomStream random(4);
  std::vector<float> values;
  for (int i = 0; i < 3000; ++i) {
    const bool first = random.uniform() < 0.6;
    for (int j = 0; j < 3; ++j) values.push_back((random.uniform() < 0.1) != first ? 1.0f : 0.0f);
  }
  const auto data = make_point_source(3, values);
  for (const char* objective : {"snl", "nce", "pcd", "pseudo-likelihood"}) {
    DensityOptions options = quick(objective);
    options.proposal = "auto";
    options.langevin_steps = 5;
    TrainObserver observer;
    const DensityResult result = train_density(*data, numbers(0, 3000), {}, options, {}, observer);
    const double log_z = enumerate_log_z(*result.model.energy).value;
    EXPECT_NEAR(result.model.log_normalizer, log_z, 0.02) << objective;
    for (uint32_t point = 0; point < 8; ++point) {
      const std::vector<float> x{float(point >> 2 & 1), float(point >> 1 & 1), float(point & 1)};
      double s = 0, agree1 = 1, agree0 = 1, count = 0;
      result.model.energy->score({x.data(), 1, 3}, {&s, 1});
      for (const float bit : x) {
        agree1 *= bit == 1 ? 0.9 : 0.1;
        agree0 *= bit == 0 ? 0.9 : 0.1;
      }
      for (size_t i = 0; i < values.size(); i += 3)
        count += std::equal(x.begin(), x.end(), values.begin() + long(i));
      EXPECT_NEAR(std::exp(s - log_z), 0.6 * agree1 + 0.4 * agree0, 0.04) << objective << " " << point;
      EXPECT_NEAR(std::exp(s - log_z), count / 3000, 0.03) << objective << " " << point;
    }
  }
}

// As the corners of pictures are: 0 in all training rows.
TEST(DensityTrainer, AConstantBitIsOneOfABinaryTable) {
  RandomStream random(5);
  std::vector<float> values;
  for (int i = 0; i < 300; ++i)
    for (int j = 0; j < 3; ++j) values.push_back(j < 2 && random.uniform() < 0.4 ? 1.0f : 0.0f);
  DensityOptions options = quick("snl");
  options.proposal = "auto";
  TrainObserver observer;
  const DensityResult result =
      train_density(*make_point_source(3, values), numbers(0, 300), {}, options, {}, observer);
  const std::vector<float> seen{0, 0, 0}, unseen{0, 0, 1};
  std::vector<double> s(2);
  result.model.energy->score({seen.data(), 1, 3}, {s.data(), 1});
  result.model.energy->score({unseen.data(), 1, 3}, {s.data() + 1, 1});
  const double log_z = enumerate_log_z(*result.model.energy).value;
  EXPECT_NEAR(std::exp(s[0] - log_z), 0.36, 0.1);
  EXPECT_LT(std::exp(s[1] - log_z), 0.05);
}

// A uniform box ends at the training rows.
TEST(DensityTrainer, ValidationRowsOutsideAreCountedAndTheOthersJudge) {
  struct Warnings : TrainObserver {
    void on_warning(const std::string& text) override { all += text; }
    void on_progress(const Progress& p) override { checks += p.valid_nll_estimate.has_value() ? 1 : 0; }
    std::string all;
    int checks = 0;
  } observer;
  std::vector<float> values;
  RandomStream random(2);
  for (int i = 0; i < 400; ++i) values.push_back(static_cast<float>(random.uniform()));
  values[399] = 50;
  const auto data = make_point_source(1, values);
  DensityOptions options = quick("snl");
  options.proposal = "uniform";
  options.steps = 40;
  train_density(*data, numbers(0, 300), numbers(300, 400), options, {}, observer);
  EXPECT_NE(observer.all.find("1 validation rows are outside"), std::string::npos) << observer.all;
  EXPECT_GT(observer.checks, 5);
}

TEST(DensityTrainer, DivergenceKeepsTheLastGoodModelAndSaysWhatToTry) {
  const auto data = two_normals(500);
  DensityOptions options = quick("snl");
  options.learning_rate = 1e20;
  options.clip = 1e30;
  options.calibrate = false;
  options.normalizer_steps = 0;
  TrainObserver observer;
  const DensityResult result = train_density(*data, numbers(0, 500), {}, options, {}, observer);
  EXPECT_TRUE(result.diverged);
  EXPECT_NE(result.reason.find("learning-rate"), std::string::npos);
  for (const float v : std::as_const(*result.model.energy).parameters()) EXPECT_TRUE(std::isfinite(v));
  EXPECT_TRUE(std::isfinite(result.model.log_normalizer));
}

// 600 rows of 40 bits in two lumps, which no product of columns covers.
std::vector<float> two_lumps_of_bits() {
  RandomStream random(4);
  std::vector<float> values;
  for (int i = 0; i < 600; ++i) {
    const bool first = random.uniform() < 0.5;
    for (int j = 0; j < 40; ++j) values.push_back((random.uniform() < 0.05) != first ? 1.0f : 0.0f);
  }
  return values;
}

// With a proposal that hardly reaches the data SNL stops where its draws can follow: b is not lost, nothing
// diverges, and the result is not worse than the proposal.
TEST(DensityTrainer, SnlWithAPoorProposalKeepsB) {
  const std::vector<float> values = two_lumps_of_bits();
  const auto data = make_point_source(40, values);
  DensityOptions options = quick("snl");
  options.proposal = "bernoulli";
  options.samples = 256;
  options.steps = 400;
  struct Warnings final : TrainObserver {
    int count = 0;
    void on_warning(const std::string&) override { ++count; }
  } observer;
  const DensityResult result =
      train_density(*data, numbers(0, 500), numbers(500, 600), options, {}, observer);
  EXPECT_FALSE(result.diverged) << result.reason;
  EXPECT_LE(observer.count, 3);
  const LogZEstimate z = importance_log_z(*result.model.energy, *result.model.proposal, 20'000, 1);
  EXPECT_GT(z.effective, 100);
  std::vector<double> score(100), log_q(100);
  const Points held_out{values.data() + 500 * 40, 100, 40};
  result.model.energy->score(held_out, score);
  result.model.proposal->log_prob(held_out, log_q);
  double gain = 0;
  for (size_t i = 0; i < 100; ++i) gain += (score[i] - z.value - log_q[i]) / 100;
  EXPECT_GT(gain, -0.05);
}

// Importance sampling sees nothing of 40 correlated bits with 16 draws: the loss falls without end.
TEST(DensityTrainer, ImportanceSamplingThatLosesLogZEndsAtTheLastGoodModel) {
  const std::vector<float> values = two_lumps_of_bits();
  const auto data = make_point_source(40, values);
  DensityOptions options = quick("is");
  options.proposal = "bernoulli";
  options.samples = 16;
  options.steps = 400;
  TrainObserver observer;
  for (const uint64_t valid : {100, 0}) {
    const DensityResult result =
        train_density(*data, numbers(0, 500), numbers(500, 500 + valid), options, {}, observer);
    EXPECT_TRUE(result.diverged) << result.reason;
    EXPECT_NE(result.reason.find("draws of a step were worth"), std::string::npos) << result.reason;
    const LogZEstimate z = importance_log_z(*result.model.energy, *result.model.proposal, 20'000, 1);
    EXPECT_GT(z.effective, 100);
    std::vector<double> score(600);
    result.model.energy->score({values.data(), 600, 40}, score);
    const double mean = std::accumulate(score.begin(), score.end(), 0.0) / 600;
    EXPECT_LT(z.value - mean, 40 * std::log(2.0) + 1);
  }
}

TEST(DensityTrainer, RefusesWhatCannotWork) {
  const auto data = two_normals(100);
  TrainObserver observer;
  const auto error = [&](const PointSource& source, uint64_t rows,
                         const DensityOptions& options) -> std::string {
    try {
      train_density(source, numbers(0, rows), {}, options, {}, observer);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(error(*data, 1, quick("snl")).find("at least 2"), std::string::npos);
  EXPECT_NE(error(*data, 100, quick("pseudo-likelihood")).find("binary"), std::string::npos);
  EXPECT_NE(error(*data, 100, quick("nonsense")).find("nonsense"), std::string::npos);
  DensityOptions binary = quick("snl");
  binary.space = "binary";
  EXPECT_NE(error(*data, 100, binary).find("whole numbers"), std::string::npos);
  DensityOptions learned = quick("snl");
  learned.learn_proposal = "data";
  learned.proposal = "kde";
  EXPECT_NE(error(*data, 100, learned).find("cannot be learned"), std::string::npos);
  DensityOptions walls = quick("sm");
  walls.energy = "exponential";
  const auto positive = make_point_source(1, std::vector<float>{1, 2, 0.5f, 3});
  EXPECT_NE(error(*positive, 4, walls).find("where the support ends"), std::string::npos);
  walls.objective = "nce";
  const auto negative = make_point_source(1, std::vector<float>{1, 2, -0.5f, 3});
  EXPECT_NE(error(*negative, 4, walls).find("row 2 is (-0.5), outside the support of exponential"),
            std::string::npos)
      << error(*negative, 4, walls);
  DensityOptions counts = quick("pcd");
  counts.space = "counts";
  counts.energy = "poisson";
  counts.proposal = "auto";
  EXPECT_NE(
      error(*make_point_source(1, std::vector<float>{1, 2, 5, 3}), 4, counts).find("no chains over counts"),
      std::string::npos);
  const auto bits = make_point_source(2, std::vector<float>{0, 1, 1, 0, 1, 1, 0, 0});
  DensityOptions matching = quick("sm");
  matching.proposal = "auto";
  EXPECT_NE(error(*bits, 4, matching).find("derivatives"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
