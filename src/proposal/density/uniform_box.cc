#include "proposal/density/uniform_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "proposal/density/density.h"
#include "proposal/density/sample_moments.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// The nearest float32 in the direction of the infinity `away`, within the finite ones.
double rounded_out(double value, double away) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const auto rounded = static_cast<float>(std::clamp(value, -kLargest, kLargest));
  const auto bound = static_cast<float>(std::copysign(kLargest, away));
  const bool is_inside =
      away > 0 ? static_cast<double>(rounded) < value : static_cast<double>(rounded) > value;
  return static_cast<double>(is_inside ? std::nextafter(rounded, bound) : rounded);
}

}  // namespace

UniformBox::UniformBox(std::vector<double> lower, std::vector<double> upper)
    : support_(Support::box(std::move(lower), std::move(upper))) {
  SELFNORM_CHECK(support_.lower.size() == support_.upper.size());
  for (size_t j = 0; j < support_.lower.size(); ++j) {
    const double low = support_.lower[j], high = support_.upper[j];
    if (!(low < high) || !std::isfinite(high - low) || static_cast<double>(static_cast<float>(low)) != low ||
        static_cast<double>(static_cast<float>(high)) != high)
      throw Error(
          fmt::format("the box of column {} is [{}, {}]; expected a finite interval whose ends are float32",
                      j, low, high));
    log_inside_ -= std::log(high - low);
  }
}

void UniformBox::sample(RandomStream& random, std::span<float> rows) const {
  const std::vector<double>&low = support_.lower, &high = support_.upper;
  for (size_t begin = 0; begin < rows.size(); begin += low.size())
    for (size_t j = 0; j < low.size(); ++j)
      rows[begin + j] = static_cast<float>(low[j] + random.uniform() * (high[j] - low[j]));
}

void UniformBox::log_prob(const Points& x, std::span<double> out) const {
  for (uint64_t i = 0; i < x.rows; ++i)
    out[i] = contains(support_, x.row(i)) ? log_inside_ : -std::numeric_limits<double>::infinity();
}

void UniformBox::log_prob_gradient(const Points& x, std::span<double> log_q,
                                   std::span<double> gradient) const {
  log_prob(x, log_q);
  std::ranges::fill(gradient, 0.0);
}

void UniformBox::directional(const Points&, const Points&, std::span<double> first,
                             std::span<double> second) const {
  std::ranges::fill(first, 0.0);
  std::ranges::fill(second, 0.0);
}

DensityRecord UniformBox::record() const {
  return {"uniform", {{"lower", support_.lower}, {"upper", support_.upper}}};
}

std::unique_ptr<UniformBox> fit_uniform_box(const Points& data) {
  require_finite_points(data);
  const ColumnMoments moments = column_moments(data);
  const std::span<const float> first = data.row(0);
  std::vector<double> lower(first.begin(), first.end()), upper = lower;
  for (uint64_t i = 1; i < data.rows; ++i)
    for (size_t j = 0; j < lower.size(); ++j) {
      lower[j] = std::min(lower[j], static_cast<double>(data.row(i)[j]));
      upper[j] = std::max(upper[j], static_cast<double>(data.row(i)[j]));
    }
  for (size_t j = 0; j < lower.size(); ++j) {
    const double margin = moments.is_constant[j] ? moments.scale[j] : 0.1 * (upper[j] - lower[j]);
    lower[j] = rounded_out(lower[j] - margin, -1);
    upper[j] = rounded_out(upper[j] + margin, 1);
  }
  return std::make_unique<UniformBox>(std::move(lower), std::move(upper));
}

std::unique_ptr<Density> restore_uniform_box(const DensityRecord& record, uint32_t dimension) {
  return std::make_unique<UniformBox>(record_values(record, "lower", dimension),
                                      record_values(record, "upper", dimension));
}

}  // namespace selfnorm
