// Through the emulated module (tests/gpu/emulated): a pass on a device is that of the CPU.
#include "normalizer/device_linear.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "normalizer/enumeration.h"
#include "normalizer/problem.h"
#include "random_data.h"

namespace selfnorm {
namespace {

struct DeviceLinears : testing::Test {
  DeviceLinears() {
    setenv("SELFNORM_CUDA_MODULE", SELFNORM_EMULATED_CUDA, 1);
    choose_device("cuda");
  }
  ~DeviceLinears() override {
    choose_device("cpu");
    unsetenv("SELFNORM_CUDA_MODULE");
  }
};

TEST_F(DeviceLinears, PassesAreThoseOfTheCpu) {
  for (const bool is_sparse : {false, true}) {
    for (const bool has_carrier : {false, true}) {
      const Dataset data =
          random_dataset({.rows = 150, .features = 7, .classes = 11, .sparse = is_sparse}, 3);
      const std::vector<float> carrier = has_carrier ? random_vector<float>(11, 5) : std::vector<float>();
      // Models may know more features than the data name.
      const auto theta = random_vector<float>(size_t{9 + 1} * 11, 4);
      const Enumeration<float> here(Multiclass<float>(data.features, 11, 9, carrier), data.target);
      const auto there = make_exact_pass<float>(data, 9, 11, carrier);
      EXPECT_EQ(there->device(), "emulated");
      EXPECT_EQ(there->gradient_size(), here.gradient_size());
      std::vector<double> log_z(150), score(150);
      std::vector<float> wanted(here.gradient_size(), 0.5f), got = wanted;  // added to
      const auto derivatives = [](uint64_t i) {
        return ScoreDerivatives{-0.01 * static_cast<double>(i), 0.5 + 0.01 * static_cast<double>(i % 9)};
      };
      here.run(
          theta, 150,
          [&](uint64_t i, double s, double a) {
            score[i] = s;
            log_z[i] = a;
            return derivatives(i);
          },
          wanted);
      there->run(
          theta, 150,
          [&](uint64_t i, double s, double a) {
            EXPECT_NEAR(s, score[i], 1e-5);
            EXPECT_NEAR(a, log_z[i], 1e-5);
            return derivatives(i);
          },
          got);
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-3) << i;
      std::vector<OutputSummary> summaries(150);
      here.summarise(theta, [&](uint64_t i, const OutputSummary& s) { summaries[i] = s; });
      there->summarise(theta, [&](uint64_t i, const OutputSummary& s) {
        EXPECT_NEAR(s.log_prob, summaries[i].log_prob, 1e-5);
        EXPECT_NEAR(s.entropy, summaries[i].entropy, 1e-5);
        EXPECT_EQ(s.better, summaries[i].better);
        EXPECT_EQ(s.outputs, 11u);
      });
    }
  }
}

TEST_F(DeviceLinears, ExamplesThatAreNotNormalisedAndSmallWorkStayHere) {
  const Dataset data = random_dataset({.rows = 20, .features = 4, .classes = 3}, 1);
  const auto pass = make_exact_pass<float>(data, 4, 3, {});
  const auto theta = random_vector<float>(size_t{4 + 1} * 3, 2);
  uint64_t normalised = 0;
  pass->run(theta, 7,
            [&](uint64_t, double, double a) {
              normalised += std::isnan(a) ? 0 : 1;
              return ScoreDerivatives{};
            },
            {});
  EXPECT_EQ(normalised, 7u);
  choose_device("auto");
  EXPECT_EQ(make_device_pass(data, 4, 3, {}), nullptr);
  EXPECT_EQ(make_exact_pass<float>(data, 4, 3, {})->device(), "");
}

}  // namespace
}  // namespace selfnorm
