#include "selfnorm/head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "model/head/head_file.h"
#include "model/safetensors_writer.h"
#include "scratch.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct RandomHead {
  std::vector<float> weight, bias, states;
};

// K = 50 classes, d = 8; log Z is nearly linear in h when the spread of the weights is small.
RandomHead random_head(float spread) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  RandomHead out;
  std::vector<float> common(8);
  for (float& v : common) v = normal(random);
  for (int k = 0; k < 50; ++k) {
    for (int j = 0; j < 8; ++j)
      out.weight.push_back(common[static_cast<size_t>(j)] + spread * normal(random));
    out.bias.push_back(normal(random));
  }
  for (int i = 0; i < 8 * 6000; ++i) out.states.push_back(normal(random));
  return out;
}

double log_z(const std::vector<float>& weight, const std::vector<float>& bias, const float* h) {
  double sum = 0;
  for (size_t k = 0; k < 50; ++k) {
    double s = bias[k];
    for (size_t j = 0; j < 8; ++j) s += double(weight[8 * k + j]) * h[j];
    sum += std::exp(s);
  }
  return std::log(sum);
}

TEST(ApiHead, TheGaugeTakesWhatIsLinearAndCertifiesTheRest) {
  const RandomHead head = random_head(0.05f);
  const NormalizedHead found = normalize_head({head.weight, 8}, head.bias, {head.states, 8});
  EXPECT_EQ(found.rung().name, "raw");
  ASSERT_TRUE(found.rung().eps);
  EXPECT_LE(*found.rung().eps, 0.1);
  EXPECT_GT(found.before.rms, 1);
  EXPECT_LT(found.after.rms, 0.1);
  ASSERT_TRUE(found.after.smallest_eps);
  EXPECT_LE(*found.after.smallest_eps, 0.1);
  for (size_t i = 0; i < 20; ++i) {
    const float* h = head.states.data() + 8 * i;
    const double before = log_z(head.weight, head.bias, h), after = log_z(found.weight, found.bias, h);
    double moved = found.intercept;
    for (size_t j = 0; j < 8; ++j) moved += found.slope[j] * h[j];
    EXPECT_NEAR(before - after, moved, 1e-4);
  }
  const std::vector<double> all = head_log_normalizers({head.weight, 8}, head.bias, {head.states, 8});
  EXPECT_NEAR(all[7], log_z(head.weight, head.bias, head.states.data() + 56), 1e-4);
}

// Of states that are 20 alone, again and again, those held out are all of them.
TEST(ApiHead, TheCertificateIsThatOfTheRoundedHead) {
  RandomHead head = random_head(0.05f);
  for (size_t i = 160; i < head.states.size(); ++i) head.states[i] = head.states[i - 160];
  const NormalizedHead found =
      normalize_head({head.weight, 8}, head.bias, {head.states, 8},
                     {.weight_type = HeadType::bfloat16, .bias_type = HeadType::bfloat16});
  for (const auto* values : {&found.weight, &found.bias})
    for (const float v : *values) EXPECT_EQ(std::bit_cast<uint32_t>(v) & 0xFFFFu, 0u) << v;
  double largest = -1e9;
  for (size_t i = 0; i < 20; ++i)
    largest = std::max(largest, log_z(found.weight, found.bias, head.states.data() + 8 * i));
  EXPECT_NEAR(found.after.largest, largest, 1e-5);
  const NormalizedHead whole = normalize_head({head.weight, 8}, head.bias, {head.states, 8});
  EXPECT_GT(std::abs(whole.after.largest - largest), 1e-4);
}

// 1,200 classes in 12 clusters, d = 5, whose log Z is not linear.
RandomHead clustered_rows() {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  RandomHead out;
  std::vector<float> centre;
  for (int i = 0; i < 12 * 5; ++i) centre.push_back(0.7f * normal(random));
  for (size_t k = 0; k < 1200; ++k)
    for (size_t j = 0; j < 5; ++j) out.weight.push_back(centre[k % 12 * 5 + j] + 0.2f * normal(random));
  for (int k = 0; k < 1200; ++k) out.bias.push_back(0.5f * normal(random));
  for (int i = 0; i < 3000 * 5; ++i) out.states.push_back(normal(random));
  return out;
}

TEST(ApiHead, WhereAConstantWillNotDoAHigherRungIsChosen) {
  const RandomHead head = clustered_rows();
  const Rows states(head.states, 5);
  const NormalizedHead found = normalize_head({head.weight, 5}, head.bias, states, {.keep_all = true});
  EXPECT_EQ(found.fitted, 1500u);
  EXPECT_EQ(found.certified, 1500u);
  ASSERT_LT(found.chosen + 1, found.rungs.size());
  EXPECT_GT(found.rungs[0].rms, 0.1);
  EXPECT_EQ(found.rungs.back().kind, "exact");
  EXPECT_EQ(found.rungs.back().cost, 1200);
  for (size_t i = 0; i < found.chosen; ++i) EXPECT_GT(*found.rungs[i].eps, 0.1) << found.rungs[i].name;
  EXPECT_LE(*found.rung().eps, 0.1);

  const HeadLadder ladder(found.ladder, 1200, 5);
  const Rows weight(found.weight, 5);
  const std::vector<double> exact = ladder.log_normalizers(weight, found.bias, states, "exact");
  ASSERT_GE(ladder.rungs().size(), 3u);
  for (const std::string& name : ladder.rungs()) {
    const std::vector<double> some = ladder.log_normalizers(weight, found.bias, states, name);
    const auto rung = std::find_if(found.rungs.begin(), found.rungs.end(),
                                   [&](const HeadRung& r) { return r.name == name; });
    ASSERT_NE(rung, found.rungs.end());
    size_t far = 0;
    for (size_t i = 0; i < exact.size(); ++i) far += std::abs(some[i] - exact[i]) > *rung->eps ? 1 : 0;
    EXPECT_LE(far, 30u) << name;  // 1% of 3,000
  }
  EXPECT_THROW(ladder.log_normalizers(weight, found.bias, states, "nearest-9"), Error);
  EXPECT_THROW(ladder.log_normalizers({head.states, 5}, {}, states, ladder.rungs()[0]), Error);
  EXPECT_THROW(HeadLadder(found.ladder, 1201, 5), Error);
}

TEST(ApiHead, ByCostTheMostPreciseIsChosen) {
  const RandomHead head = clustered_rows();
  const NormalizedHead found = normalize_head({head.weight, 5}, head.bias, {head.states, 5}, {.max_cost = 1});
  EXPECT_LE(found.rung().cost, 1);
  EXPECT_EQ(found.normalizer.slope.size(), found.rung().kind == "linear" ? 5u : 0u);
  const NormalizedHead none = normalize_head({head.weight, 5}, head.bias, {head.states, 5}, {.within = 1e-6});
  EXPECT_EQ(none.rung().name, "exact");
  EXPECT_EQ(none.reason, "no cheaper rung is certified");
}

TEST(ApiHead, FilesHoldTheSameAsMemory) {
  const RandomHead head = clustered_rows();
  const Scratch folder;
  const auto tensor = [](const char* name, std::vector<uint64_t> shape, const std::vector<float>& values) {
    return make_tensor(name, runtime::Dtype::F32, std::move(shape), std::span<const float>(values));
  };
  write_safetensors(folder / "head.safetensors",
                    {tensor("weight", {1200, 5}, head.weight), tensor("bias", {1200}, head.bias)}, {});
  write_safetensors(folder / "h.safetensors", {tensor("states", {3000, 5}, head.states)}, {});
  const NormalizedHead here = normalize_head({head.weight, 5}, head.bias, {head.states, 5}, {});
  const NormalizedHead there = normalize_head(HeadFiles{.head = folder / "head.safetensors",
                                                        .states = folder / "h.safetensors",
                                                        .out = folder / "out.safetensors",
                                                        .weight_name = "",
                                                        .bias_name = "",
                                                        .states_name = ""});
  EXPECT_EQ(there.rung().name, here.rung().name);
  EXPECT_EQ(there.ladder, here.ladder);
  EXPECT_EQ(there.slope, here.slope);
  const Head written = load_head(folder / "out.safetensors", {});
  EXPECT_EQ(written.model.weight, here.weight);
  EXPECT_EQ(ladder_bytes(written.model.ladder, 5), here.ladder);
  EXPECT_THROW(normalize_head(HeadFiles{.head = folder / "head.safetensors",
                                        .states = folder / "h.safetensors",
                                        .out = "",
                                        .weight_name = "",
                                        .bias_name = "",
                                        .states_name = ""}),
               Error);
}

TEST(ApiHead, FilesOfStatesOfAnotherWidthAreRefused) {
  const RandomHead head = random_head(0.1f);
  const Scratch folder;
  const auto write = [&](const char* file, const char* name, std::vector<uint64_t> shape,
                         const std::vector<float>& values) {
    const auto tensor =
        make_tensor(name, runtime::Dtype::F32, std::move(shape), std::span<const float>(values));
    write_safetensors(folder / file, {tensor}, {});
  };
  write("head.safetensors", "weight", {50, 8}, head.weight);
  for (const uint64_t width : {4, 16}) {
    write("h.safetensors", "states", {48000 / width, width}, head.states);
    try {
      normalize_head(HeadFiles{.head = folder / "head.safetensors",
                               .states = folder / "h.safetensors",
                               .out = folder / "out.safetensors",
                               .weight_name = "",
                               .bias_name = "",
                               .states_name = ""});
      FAIL() << width;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("the head in"), std::string::npos) << e.what();
    }
  }
}

TEST(ApiHead, MistakesSayWhatWasExpected) {
  const RandomHead head = random_head(0.1f);
  EXPECT_THROW(normalize_head({head.weight, 8}, head.bias, {head.states, 4}), Error);
  EXPECT_THROW(normalize_head({head.weight, 8}, std::vector<float>(3), {head.states, 8}), Error);
  EXPECT_THROW(normalize_head({head.weight, 8}, {}, {std::span(head.states).first(8), 8}), Error);
  EXPECT_THROW(normalize_head({head.weight, 8}, {}, {head.states, 8}, {.within = 0}), Error);
}

}  // namespace
}  // namespace selfnorm
