// Through the emulated module (tests/gpu/emulated): what is sent and what comes back, without a GPU.
#include "normalizer/device_head.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "math/half.h"
#include "model/class_scores.h"
#include "normalizer/ladder/cluster_masses.h"
#include "normalizer/output_stream.h"
#include "random_head.h"

namespace selfnorm {
namespace {

struct EmulatedDevice : testing::Test {
  EmulatedDevice() {
    setenv("SELFNORM_CUDA_MODULE", SELFNORM_EMULATED_CUDA, 1);
    choose_device("cuda");
  }
  ~EmulatedDevice() override {
    choose_device("cpu");
    unsetenv("SELFNORM_CUDA_MODULE");
  }
};

void expect_same_moments(const ModelFile& model, const Dataset& data) {
  const ClassMoments expected = class_moments(*make_class_scores(model, false), data.features, data.target);
  const auto device = DeviceHead::on_chosen_device(model);
  ASSERT_TRUE(device);
  const DeviceMoments got = device->moments(data.features, data.target);
  for (uint64_t i = 0; i < data.examples(); ++i) {
    EXPECT_NEAR(got.rows[i].log_z(), expected.rows[i].log_z(), 1e-5);
    EXPECT_NEAR(got.rows[i].entropy(), expected.rows[i].entropy(), 1e-5);
    EXPECT_NEAR(got.rows[i].expected(), expected.rows[i].expected(), 1e-5);
    EXPECT_EQ(got.rows[i].best, expected.rows[i].best);
    EXPECT_NEAR(got.target_score[i], expected.target_score[i], 1e-5);
    EXPECT_EQ(got.better[i] == 0, got.rows[i].best == data.target[i]);
  }
}

TEST_F(EmulatedDevice, GivesTheMomentsOfFloat32Heads) {
  expect_same_moments(random_head(30, 7, 1), random_dataset({.rows = 200, .features = 7, .classes = 30}, 3));
}

TEST_F(EmulatedDevice, SplitsStatesForBfloat16Heads) {
  ModelFile model = random_head(30, 7, 2);
  for (float& w : model.weight) w = from_bfloat16(to_bfloat16(w));
  model.log_carrier.assign(30, 0.25f);
  expect_same_moments(model, random_dataset({.rows = 200, .features = 7, .classes = 30}, 4));
}

TEST_F(EmulatedDevice, TakesBlocksLargerThanItsBuffers) {
  expect_same_moments(random_head(3, 2, 1), random_dataset({.rows = 9000, .features = 2, .classes = 3}, 5));
}

TEST_F(EmulatedDevice, StreamsAreThoseOfTheCpu) {
  const ModelFile model = random_head(5, 3, 1);
  const auto source = make_example_source(random_dataset({.rows = 5000, .features = 3, .classes = 5}, 3));
  const std::vector<double> there = log_normalizers(model, *source);
  EXPECT_EQ(used_device(), "emulated");
  choose_device("cpu");
  const std::vector<double> here = log_normalizers(model, *source);
  ASSERT_EQ(there.size(), here.size());
  for (size_t i = 0; i < here.size(); ++i) EXPECT_NEAR(there[i], here[i], 1e-5);
}

TEST_F(EmulatedDevice, LogProbabilitiesOfChosenClassesAreThoseOfTheMoments) {
  const ModelFile model = random_head(30, 7, 1);
  const Dataset data = random_dataset({.rows = 150, .features = 7, .classes = 30}, 3);
  const auto device = DeviceHead::on_chosen_device(model);
  const std::vector<uint32_t> classes = {3, 29, 3, 0};
  const std::vector<float> found = device->log_probs(data.features, classes);
  ASSERT_EQ(found.size(), 150 * classes.size());
  for (size_t c = 0; c < classes.size(); ++c) {
    const DeviceMoments of = device->moments(data.features, std::vector<uint32_t>(150, classes[c]));
    for (size_t i = 0; i < 150; ++i)
      EXPECT_NEAR(found[i * classes.size() + c], of.target_score[i] - of.rows[i].log_z(), 1e-5);
  }
}

// What a rung of kind nearest is fitted to (normalizer/ladder/cluster_masses.h).
TEST_F(EmulatedDevice, MassesOfClustersAndSharesAreThoseOfTheCpu) {
  ModelFile model = random_head(40, 7, 1);
  model.log_carrier.assign(40, 0.5f);
  const Features x = random_dataset({.rows = 120, .features = 7, .classes = 40}, 3).features;
  std::vector<uint32_t> cluster_of;
  for (uint32_t k = 0; k < 40; ++k) cluster_of.push_back(k * k % 6);  // of uneven sizes, some empty
  const ClassClusters clusters = grouped_classes(cluster_of, 6, model);
  const ExactSums there(model, false);
  const std::vector<double> log_z = there.log_z(x), shares = there.mean_shares(x, log_z);
  const std::vector<float> g = there.cluster_log_masses(x, log_z, clusters);
  choose_device("cpu");
  const ExactSums here(model, false);
  const std::vector<double> log_z_here = here.log_z(x), shares_here = here.mean_shares(x, log_z);
  const std::vector<float> g_here = here.cluster_log_masses(x, log_z_here, clusters);
  for (size_t i = 0; i < log_z.size(); ++i) EXPECT_NEAR(log_z[i], log_z_here[i], 1e-5);
  for (size_t i = 0; i < g.size(); ++i) EXPECT_NEAR(g[i], g_here[i], 1e-4);
  for (size_t k = 0; k < shares.size(); ++k) EXPECT_NEAR(shares[k], shares_here[k], 1e-6);
}

TEST_F(EmulatedDevice, HeadsDifferAsTheyDoOnTheCpu) {
  ModelFile p = random_head(30, 7, 1), q = p;
  p.log_carrier = q.log_carrier = std::vector<float>(30, 0.5f);
  for (size_t i = 0; i < q.weight.size(); i += 2) q.weight[i] += 0.1f;
  const Dataset data = random_dataset({.rows = 100, .features = 7, .classes = 30}, 3);
  const HeadDifference there = model_difference(p, q, data);
  choose_device("cpu");
  const HeadDifference here = model_difference(p, q, data);
  EXPECT_GT(here.kl, 0);
  EXPECT_NEAR(there.kl, here.kl, 1e-4);
  EXPECT_NEAR(there.probability, here.probability, 1e-5);
  EXPECT_NEAR(there.log_probability, here.log_probability, 1e-5);
}

TEST_F(EmulatedDevice, AutoLeavesSmallHeadsToTheCpu) {
  choose_device("auto");
  EXPECT_EQ(DeviceHead::on_chosen_device(random_head(5, 3, 1)), nullptr);
}

}  // namespace
}  // namespace selfnorm
