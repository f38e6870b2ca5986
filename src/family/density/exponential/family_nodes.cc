#include "family/density/exponential/family_nodes.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kLeastLogarithm = -85;   // e^u is a float32 above 0
constexpr double kLeastVariation = 1e-6;  // of a deviation, relative to the size of the column

}  // namespace

void FamilyAxis::Extent::add(double v) {
  least = count > 0 ? std::min(least, v) : v;
  most = count > 0 ? std::max(most, v) : v;
  const double delta = v - mean;
  mean += delta / ++count;
  square += delta * (v - mean);
}

double FamilyAxis::Extent::deviation() const { return count > 0 ? std::sqrt(square / count) : 0; }

bool FamilyAxis::is_half_line() const { return std::isfinite(lower_) != std::isfinite(upper_); }

double FamilyAxis::distance(double x) const { return std::isfinite(lower_) ? x - lower_ : upper_ - x; }

void FamilyAxis::add(double x) {
  x_.add(x);
  if (is_half_line() && distance(x) > 0) log_.add(std::log(distance(x)));
}

double FamilyAxis::scale() const {
  const double size = std::max(std::abs(x_.least), std::abs(x_.most));
  return std::max(x_.deviation(), kLeastVariation * (size > 0 ? size : 1));
}

FamilyAxis::Segment FamilyAxis::segment(const FamilyReach& reach) const {
  const double more = reach.width * scale();
  if (!is_half_line()) return {std::max(lower_, x_.least - more), std::min(upper_, x_.most + more)};
  const double farthest = std::isfinite(lower_) ? distance(x_.most) : distance(x_.least);
  const double middle = std::max(distance(x_.mean), scale());
  const double spread = log_.count > 0 ? log_.least - reach.width * log_.deviation() : INFINITY;
  return {std::max(kLeastLogarithm, std::min(std::log(middle) - reach.depth, spread)),
          std::log(farthest + more)};
}

double FamilyAxis::x(double u) const {
  if (!is_half_line()) return u;
  return std::isfinite(lower_) ? lower_ + std::exp(u) : upper_ - std::exp(u);
}

std::vector<FamilyAxis> family_axes(const Support& support, uint32_t dimension) {
  SELFNORM_CHECK(support.is_real());
  std::vector<FamilyAxis> out;
  for (uint32_t j = 0; j < dimension; ++j)
    out.emplace_back(support.lower.empty() ? -INFINITY : support.lower[j],
                     support.upper.empty() ? INFINITY : support.upper[j]);
  return out;
}

QuadratureNodes family_nodes(std::span<const FamilyAxis> axes, const FamilyReach& reach, uint32_t cells) {
  std::vector<double> lower, upper;
  for (const FamilyAxis& axis : axes) {
    const FamilyAxis::Segment s = axis.segment(reach);
    lower.push_back(s.lower);
    upper.push_back(s.upper);
  }
  QuadratureNodes out = quadrature_nodes(lower, upper, cells);
  for (size_t i = 0; i < out.log_weight.size(); ++i)
    for (size_t j = 0; j < axes.size(); ++j) {
      float& x = out.x[i * axes.size() + j];
      const double u = x;
      out.log_weight[i] += axes[j].log_slope(u);
      x = static_cast<float>(axes[j].x(u));
    }
  return out;
}

}  // namespace selfnorm
