#include "family/regressor/regressor_block.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/failure.h"

namespace selfnorm {

void check_targets(const Regressor& model, uint64_t rows, std::span<const double> y) {
  if (y.size() != rows * model.dimension())
    throw_error("found {} values of targets, expected {}: {} rows of {}", y.size(), rows * model.dimension(),
                rows, model.dimension());
}

BlockTargets::BlockTargets(const Regressor& model, std::span<const double> targets)
    : y(targets), dimension(model.dimension()) {
  std::array<float, 3> inside;
  for (uint32_t i = 0; i < y.size() / dimension; ++i) {
    reach.push_back(model.standardise(y.subspan(size_t{i} * dimension, dimension), inside));
    if (reach.back() != TargetReach::kInside) continue;
    row.push_back(i);
    u.insert(u.end(), inside.begin(), inside.begin() + dimension);
  }
}

bool BlockTargets::is_given(uint64_t i) const {
  if (y.empty()) return false;
  const std::span<const double> own = y.subspan(i * dimension, dimension);
  return std::none_of(own.begin(), own.end(), [](double v) { return std::isnan(v); });
}

TargetScores target_scores(const ConditionalScores& scores, const BlockTargets& targets, uint64_t first_row) {
  TargetScores out;
  std::vector<double> inside(targets.row.size());
  if (!inside.empty())
    scores.score({targets.u.data(), targets.row.size(), scores.dimension()}, targets.row, inside);
  out.s.assign(scores.rows(), -INFINITY);
  for (size_t i = 0; i < inside.size(); ++i) out.s[targets.row[i]] = inside[i];
  for (uint64_t i = 0; i < scores.rows(); ++i) {
    out.b.push_back(scores.normalizer(i));
    if (std::isnan(out.s[i]) || out.s[i] == INFINITY || !std::isfinite(out.b[i]))
      throw_error(
          "row {}: b(x) is {} and the score of the target {}, expected finite numbers; the model is damaged "
          "or training diverged",
          first_row + i, out.b[i], out.s[i]);
  }
  return out;
}

std::vector<MemberBlock> member_blocks(const Regressor& model, const InputRows& x,
                                       const BlockTargets& targets,
                                       const ConditionalQuadratureOptions& quadrature) {
  std::vector<MemberBlock> out;
  for (size_t m = 0; m < model.members.size(); ++m) {
    const auto scores = prepare_scores(model, m, x);
    out.push_back({conditional_quadrature(*scores, quadrature),
                   target_scores(*scores, targets, quadrature.first_row), scores->is_normalised()});
  }
  return out;
}

}  // namespace selfnorm
