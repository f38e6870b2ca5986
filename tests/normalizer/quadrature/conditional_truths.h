// Analytic p(y|x) for tests of conditional quadratures and what is made of them.
#pragma once

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "model/regressor/conditional_scores.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm::truths {

inline double log_normal(double y, double mean, double sd) {
  const double z = (y - mean) / sd;
  return -z * z / 2 - std::log(sd * std::sqrt(2 * std::numbers::pi));
}

struct NormalPart {
  double weight, mean, sd;
};
inline double log_mixture(double y, const std::vector<NormalPart>& parts) {
  LogSumExp sum;
  for (const NormalPart& p : parts) sum.add(std::log(p.weight) + log_normal(y, p.mean, p.sd));
  return sum.value();
}

// The same function of y for every row, or one that depends on the row.
class TrueScores : public ConditionalScores {
 public:
  using Score = std::function<double(uint32_t, std::span<const float>)>;
  TrueScores(Score score, std::vector<Place> places, Support support = {}, uint64_t rows = 1)
      : score_(std::move(score)), places_(std::move(places)), support_(std::move(support)), rows_(rows) {}

  uint64_t rows() const override { return rows_; }
  uint32_t dimension() const override { return static_cast<uint32_t>(places_[0].mean.size()); }
  Support support() const override { return support_; }
  void score(const Points& y, std::span<const uint32_t> row, std::span<double> s) const override {
    for (uint64_t i = 0; i < y.rows; ++i) s[i] = score_(row[i], y.row(i));
  }
  double normalizer(uint64_t) const override { return 0; }
  std::vector<Place> places(uint64_t) const override { return places_; }

 private:
  Score score_;
  std::vector<Place> places_;
  Support support_;
  uint64_t rows_;
};

inline std::vector<ConditionalScores::Place> places_of(const std::vector<NormalPart>& parts) {
  std::vector<ConditionalScores::Place> out;
  for (const NormalPart& p : parts) out.push_back({p.weight, {p.mean}, {p.sd}});
  return out;
}
inline const std::vector<ConditionalScores::Place> kStandardPlace = {{1, {0}, {1}}};

}  // namespace selfnorm::truths
