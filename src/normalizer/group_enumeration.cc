#include "normalizer/group_enumeration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/parallel.h"
#include "normalizer/enumeration.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kGradientBudget = 32u << 20;  // bytes of private gradients
constexpr uint64_t kMaxPieces = 64;

}  // namespace

template <class Real>
GroupEnumeration<Real>::GroupEnumeration(Joint<Real> model, const Dataset& data)
    : model_(model), data_(data) {
  SELFNORM_CHECK(data.is_joint());
}

template <class Real>
LogSumExp GroupEnumeration<Real>::score_group(std::span<const Real> theta, uint64_t group,
                                              std::vector<double>& scores) const {
  LogSumExp sum;
  scores.clear();
  for (uint64_t row = data_.group_begin[group]; row < data_.group_begin[group + 1]; ++row) {
    scores.push_back(model_.score(theta, row));
    sum.add(scores.back());
  }
  return sum;
}

template <class Real>
void GroupEnumeration<Real>::run(std::span<const Real> theta, uint64_t normalised, const Visit& visit,
                                 std::span<Real> gradient) const {
  SELFNORM_CHECK(theta.size() == parameters());
  const uint64_t affordable = kGradientBudget / std::max<size_t>(1, gradient.size_bytes());
  const uint64_t granules = (examples() + kGranule - 1) / kGranule;
  const uint64_t pieces = std::clamp<uint64_t>(std::min(affordable, granules), 1, kMaxPieces);
  std::vector<Real> gradients(gradient.size() * pieces);
  parallel_units(pieces, [&](size_t piece) {
    Real* own = gradients.data() + piece * gradient.size();
    std::vector<double> scores;
    const uint64_t end = std::min(examples(), (piece + 1) * granules / pieces * kGranule);
    for (uint64_t g = piece * granules / pieces * kGranule; g < end; ++g) {
      const uint64_t first = data_.group_begin[g], last = data_.group_begin[g + 1];
      const uint64_t chosen = first + data_.target[g];
      if (g >= normalised) {
        const double score = model_.score(theta, chosen);
        const ScoreDerivatives d = visit(g, score, std::numeric_limits<double>::quiet_NaN());
        if (!gradient.empty()) model_.backward(chosen, d.score, own);
        continue;
      }
      const LogSumExp sum = score_group(theta, g, scores);
      const double log_z = sum.value();
      const ScoreDerivatives d = visit(g, scores[data_.target[g]], log_z);
      if (gradient.empty()) continue;
      for (uint64_t row = first; row < last; ++row) {
        const double share = std::exp(sum.log_share(scores[row - first]));
        model_.backward(row, d.log_z * share + (row == chosen ? d.score : 0), own);
      }
    }
  });
  for (uint64_t piece = 0; piece < pieces && !gradient.empty(); ++piece) {
    add_scaled(Real{1}, gradients.data() + piece * gradient.size(), gradient.data(), gradient.size());
  }
}

template <class Real>
void GroupEnumeration<Real>::summarise(
    std::span<const Real> theta, const std::function<void(uint64_t, const OutputSummary&)>& sink) const {
  parallel_ranges(examples(), 256, [&](size_t begin, size_t end) {
    std::vector<double> scores;
    for (uint64_t g = begin; g < end; ++g) {
      score_group(theta, g, scores);
      const double target = scores[data_.target[g]];
      const uint64_t better = outputs_ahead<double>(scores, 0, target, data_.target[g]);
      sink(g, summary_of(moments_of(scores), target, better, scores.size()));
    }
  });
}

template class GroupEnumeration<float>;
template class GroupEnumeration<double>;

}  // namespace selfnorm
