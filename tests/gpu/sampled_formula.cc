// What the kernels of candidate objectives compute with, in their order (threads, then halves of a block),
// against the referee; and the referee against the objectives that the CPU trains with is in
// tests/objective/candidate_objectives.cc.
#include "gpu/sampled_formula.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/class_problems.h"

namespace selfnorm::gpu {
namespace {

constexpr size_t kThreads = 64;  // of the emulated block

struct RowScores {
  float target = 0;
  std::vector<float> raised;  // of the draws that count
  std::vector<int64_t> place;
  int64_t draws = 0;
};

RowScores scores_of(const SampledProblem& p, int64_t i) {
  RowScores out;
  const auto score = [&](uint32_t k) {
    float s = (p.bias.empty() ? 0 : p.bias[k]) + (p.carrier.empty() ? 0 : p.carrier[k]);
    float product = 0;
    for (int64_t d = 0; d < p.dim; ++d) product += p.states[i * p.dim + d] * p.weight[k * p.dim + d];
    return s + product;
  };
  out.target = score(p.target[i]);
  out.draws = p.draws - (p.leaves_own ? 1 : 0);
  const bool finds_hits = p.objective == SELFNORM_SNL || p.objective == SELFNORM_IS;
  for (int64_t j = 0; j < p.draws; ++j) {
    const int64_t at = p.is_shared ? j : i * p.draws + j;
    if ((p.leaves_own && j == i) || (finds_hits && p.draw[at] == p.target[i])) continue;
    out.raised.push_back(score(p.draw[at]) - p.draw_log_q[at]);
    out.place.push_back(j);
  }
  return out;
}

SampledSums block_sums(const SampledRow& row, const std::vector<float>& raised) {
  std::vector<SampledSums> threads(kThreads, SampledSums::none());
  for (size_t j = 0; j < raised.size(); ++j) threads[j % kThreads].add(row, raised[j]);
  for (size_t half = kThreads / 2; half > 0; half /= 2)
    for (size_t t = 0; t < half; ++t) threads[t].merge(threads[t + half]);
  return threads[0];
}

void expect_close(double got, double wanted, double tolerance, const std::string& what) {
  EXPECT_NEAR(got, wanted, tolerance * std::max(1.0, std::abs(wanted))) << what;
}

TEST(SampledFormula, AgreesWithTheRefereeOnEveryObjectiveAndNoise) {
  for (const auto& [name, p] : sampled_problems()) {
    const SampledResult wanted = sampled_reference(p);
    const double tolerance = name.find("1000") != std::string::npos ? 2e-3 : 2e-5;  // of a float near 1000
    for (int64_t i = 0; i < p.rows; ++i) {
      const RowScores scores = scores_of(p, i);
      const std::string what = name + ", row " + std::to_string(i);
      if (scores.draws == 0) {
        EXPECT_EQ(wanted.loss[i], 0) << what;
        continue;
      }
      const SampledRow row{p.objective, p.normalizer.empty() ? 0 : p.normalizer[i],
                           std::log(static_cast<float>(scores.draws))};
      const SampledTerms t =
          sampled_terms(row, block_sums(row, scores.raised), scores.target, p.target_log_q[i], p.most_push);
      const float factor = t.factor * (p.factor.empty() ? 1 : p.factor[i]);
      expect_close(t.loss, wanted.loss[i], tolerance, what);
      expect_close(t.d_b, wanted.d_b[i], tolerance, what);
      expect_close(t.log_z, wanted.log_z[i], tolerance, what);
      expect_close(t.effective, wanted.effective[i], 5 * tolerance, what);
      expect_close(factor * t.d_score, wanted.d_target[i], tolerance, what);
      for (size_t j = 0; j < scores.raised.size(); ++j)
        expect_close(factor * draw_derivative(row, t, scores.raised[j]),
                     wanted.d_draw[i * p.draws + scores.place[j]], tolerance, what);
    }
  }
}

// Central differences of the referee's loss, the limit apart.
TEST(SampledFormula, TheRefereesDerivativesAreThoseOfItsLoss) {
  for (const auto& [name, original] : sampled_problems()) {
    SampledProblem p = original;
    if (p.rows > 12 || p.draws > 50) continue;
    p.most_push = 0;
    p.factor.clear();
    const SampledResult at = sampled_reference(p);
    const auto loss = [&] {
      double sum = 0;
      for (const double x : sampled_reference(p).loss) sum += x;
      return sum;
    };
    for (const size_t j : {size_t{0}, p.states.size() / 2}) {
      const float here = p.states[j];
      p.states[j] = here + 0.01f;
      const double above = loss(), high = p.states[j];
      p.states[j] = here - 0.01f;
      const double below = loss(), low = p.states[j];
      p.states[j] = here;
      const double slope = (above - below) / (high - low);
      expect_close(at.d_states[j], slope, 1e-3 * std::max(1.0, std::abs(slope)), name);
    }
    p.normalizer.resize(static_cast<size_t>(p.rows), 0.0f);
    const float here = p.normalizer[0];
    p.normalizer[0] = here + 0.01f;
    const double above = loss(), high = p.normalizer[0];
    p.normalizer[0] = here - 0.01f;
    const double below = loss(), low = p.normalizer[0];
    p.normalizer[0] = here;
    const double slope = (above - below) / (high - low);
    expect_close(at.d_b[0], slope, 1e-3 * std::max(1.0, std::abs(slope)), name);
  }
}

TEST(SampledFormula, ListsOfUsesAddUpToTheGradientOfTheWeights) {
  for (const auto& [name, p] : sampled_problems()) {
    const SampledResult r = sampled_reference(p);
    const UsedLists lists(p);
    const int64_t all = static_cast<int64_t>(p.draw.size());
    for (size_t u = 0; u < lists.used.size(); ++u) {
      double d_bias = 0;
      for (uint32_t q = u > 0 ? lists.end[u - 1] : 0; q < lists.end[u]; ++q) {
        const int64_t place = lists.place[q];
        if (place >= all)
          d_bias += r.d_target[place - all];
        else if (!p.is_shared)
          d_bias += r.d_draw[place];
        else
          for (int64_t i = 0; i < p.rows; ++i) d_bias += r.d_draw[i * p.draws + place];
      }
      expect_close(d_bias, r.d_bias[lists.used[u]], 1e-9, name);
    }
  }
}

}  // namespace
}  // namespace selfnorm::gpu
