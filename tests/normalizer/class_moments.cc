#include "normalizer/class_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "math/parallel.h"
#include "math/random.h"

namespace selfnorm {
namespace {

struct Instance {
  ModelFile model;
  Features dense, sparse;
  std::vector<uint32_t> target;
};

Instance random_instance(uint32_t classes, uint32_t features, uint64_t rows, bool carrier) {
  RandomStream random(classes + rows);
  Instance out;
  out.model.classes = classes;
  out.model.features = features;
  for (size_t i = 0; i < size_t{classes} * features; ++i)
    out.model.weight.push_back(static_cast<float>(random.normal()));
  for (uint32_t k = 0; k < classes; ++k) {
    out.model.bias.push_back(static_cast<float>(random.normal()));
    if (carrier) out.model.log_carrier.push_back(static_cast<float>(random.normal()));
  }
  out.dense.is_sparse = false;
  out.dense.dense = {rows, features, {}};
  out.sparse.sparse.columns = features;
  for (uint64_t i = 0; i < rows; ++i) {
    for (uint32_t j = 0; j < features; ++j) {
      const float v = random.uniform() < 0.3 ? 0.0f : static_cast<float>(random.normal());
      out.dense.dense.values.push_back(v);
      if (v == 0) continue;
      out.sparse.sparse.column.push_back(j);
      out.sparse.sparse.value.push_back(v);
    }
    out.sparse.sparse.begin.push_back(out.sparse.sparse.column.size());
    out.target.push_back(static_cast<uint32_t>(random.below(classes)));
  }
  return out;
}

std::vector<double> oracle_scores(const Instance& in, uint64_t row) {
  std::vector<double> s;
  for (uint32_t k = 0; k < in.model.classes; ++k) {
    double sum = static_cast<double>(in.model.bias[k]);
    if (!in.model.log_carrier.empty()) sum += static_cast<double>(in.model.log_carrier[k]);
    for (uint32_t j = 0; j < in.model.features; ++j)
      sum += static_cast<double>(in.model.weight[size_t{k} * in.model.features + j]) *
             static_cast<double>(in.dense.dense.row(row)[j]);
    s.push_back(sum);
  }
  return s;
}

TEST(ClassMoments, AgreeWithEnumerationForDenseAndSparseRows) {
  for (const auto& [classes, rows] : {std::pair<uint32_t, uint64_t>{3, 5}, {700, 9}, {1100, 1030}}) {
    const Instance in = random_instance(classes, 7, rows, classes == 700);
    for (const bool sparse : {false, true}) {
      const auto scores = make_class_scores(in.model, sparse);
      const ClassMoments out = class_moments(*scores, sparse ? in.sparse : in.dense, in.target);
      for (uint64_t i = 0; i < rows; i += 1 + rows / 8) {
        const std::vector<double> s = oracle_scores(in, i);
        LogSumExp sum;
        for (const double v : s) sum.add(v);
        double expected = 0;
        for (const double v : s) expected += std::exp(v - sum.value()) * v;
        EXPECT_NEAR(out.rows[i].log_z(), sum.value(), 1e-5);
        EXPECT_NEAR(out.rows[i].expected(), expected, 1e-5);
        EXPECT_EQ(out.rows[i].best, static_cast<uint64_t>(std::max_element(s.begin(), s.end()) - s.begin()));
        EXPECT_NEAR(out.target_score[i], s[in.target[i]], 1e-5);
      }
    }
  }
}

TEST(ClassMoments, TheSameBitsForAnyNumberOfThreads) {
  const Instance in = random_instance(3000, 20, 300, false);
  const auto scores = make_class_scores(in.model, false);
  std::vector<double> results[2];
  for (int t = 0; t < 2; ++t) {
    const ThreadLimit limit(t == 0 ? 1 : 2);
    for (const SoftmaxMoments& m : class_moments(*scores, in.dense).rows) results[t].push_back(m.log_z());
  }
  EXPECT_EQ(results[0], results[1]);
}

// The same vector added to every class changes no probability; one class changed by t changes its own.
TEST(HeadDifference, SeesWhatChangesProbabilitiesAndNothingElse) {
  const Instance in = random_instance(600, 4, 12, false);
  Instance shifted = in;
  for (size_t i = 0; i < shifted.model.weight.size(); ++i)
    shifted.model.weight[i] += 0.25f * static_cast<float>(i % 4);
  for (float& b : shifted.model.bias) b += 3;
  const auto p = make_class_scores(in.model, false);
  const auto same = make_class_scores(shifted.model, false);
  EXPECT_LT(head_difference(*p, *same, in.dense).probability, 1e-5);
  EXPECT_LT(head_difference(*p, *same, in.dense).log_probability, 1e-4);

  Instance moved = in;
  moved.model.bias[17] += 2;
  const auto q = make_class_scores(moved.model, false);
  const HeadDifference difference = head_difference(*p, *q, in.dense);
  double largest = 0, kl = 0;
  for (uint64_t i = 0; i < 12; ++i) {
    const std::vector<double> s = oracle_scores(in, i);
    LogSumExp a, b;
    for (size_t k = 0; k < s.size(); ++k) {
      a.add(s[k]);
      b.add(s[k] + (k == 17 ? 2 : 0));
    }
    for (size_t k = 0; k < s.size(); ++k) {
      const double log_p = s[k] - a.value(), log_q = s[k] + (k == 17 ? 2 : 0) - b.value();
      largest = std::max(largest, std::abs(std::exp(log_p) - std::exp(log_q)));
      kl += std::exp(log_p) * (log_p - log_q);
    }
  }
  EXPECT_NEAR(difference.probability, largest, 1e-5);
  EXPECT_NEAR(difference.kl, kl, 1e-4);
}

}  // namespace
}  // namespace selfnorm
