// Every proposal: a distribution with q > 0 everywhere, and draws that follow it.
#include "proposal/proposal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

const std::vector<uint64_t> kCounts{7, 0, 100, 1, 1, 0, 30, 30, 2, 500};

class EveryProposal : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Proposal> make(std::span<const uint64_t> counts) {
    return make_proposal(GetParam(), counts, 0.75);
  }
};

TEST_P(EveryProposal, ProbabilitiesSumToOne) {
  for (const size_t classes : {1u, 2u, 10u, 1000u}) {
    std::vector<uint64_t> counts(classes);
    for (size_t k = 0; k < classes; ++k) counts[k] = k * k % 37;
    const auto q = make(counts);
    ASSERT_EQ(q->classes(), classes);
    double sum = 0;
    for (uint32_t k = 0; k < classes; ++k) sum += std::exp(q->log_prob(k));
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST_P(EveryProposal, ClassesNeverSeenCanBeDrawn) {
  const auto q = make(kCounts);
  for (const uint32_t k : {1u, 5u}) EXPECT_GT(std::exp(q->log_prob(k)), 1e-4);
  const auto unseen = make(std::vector<uint64_t>(5));
  for (uint32_t k = 0; k < 5; ++k) EXPECT_TRUE(std::isfinite(unseen->log_prob(k)));
}

// Pearson's chi-square with 9 degrees of freedom is above 27.88 once in 1000 seeds; this seed is fixed.
TEST_P(EveryProposal, FrequenciesFollowTheProbabilities) {
  const auto q = make(kCounts);
  RandomStream random(11);
  constexpr int kDraws = 200'000;
  std::vector<double> seen(kCounts.size());
  for (int i = 0; i < kDraws; ++i) seen.at(q->sample(random)) += 1;
  double chi_square = 0;
  for (uint32_t k = 0; k < kCounts.size(); ++k) {
    const double expected = kDraws * std::exp(q->log_prob(k));
    chi_square += (seen[k] - expected) * (seen[k] - expected) / expected;
  }
  EXPECT_LT(chi_square, 27.88);
}

TEST_P(EveryProposal, OneClassIsCertain) {
  const auto q = make(std::vector<uint64_t>{3});
  RandomStream random(1);
  EXPECT_NEAR(q->log_prob(0), 0, 1e-15);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(q->sample(random), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, EveryProposal, testing::ValuesIn(proposal_names()), [](const auto& instance) {
  std::string name = instance.param;
  std::erase(name, '-');
  return name;
});

TEST(MakeProposal, UnknownNamesAreUserErrors) { EXPECT_THROW(make_proposal("zipf", kCounts, 1), Error); }

}  // namespace
}  // namespace selfnorm
