#include "audit/iterative_least_squares.h"

#include <algorithm>
#include <cmath>

#include "audit/stream.h"
#include "data/dataset.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr int kMostIterations = 500;
constexpr double kTolerance = 1e-8;  // of the gradient, relative to that of the start
constexpr int kPatience = 5;         // iterations without a better fit of the held-out rows
constexpr uint64_t kHeldOutEvery = 10;
constexpr uint64_t kProductRowsAtOnce = 4096;
constexpr size_t kRowsOfOne = 64;        // of a unit of work
constexpr uint32_t kColumnsOfOne = 256;  // likewise

double square_norm(const std::vector<double>& v) { return dot(v.data(), v.data(), v.size()); }

// X with its columns centred and, when they are to be, divided by their standard deviations, rows with
// keep(i) only.
class CentredRows {
 public:
  CentredRows(const ExampleSource& source, bool hold_out, ColumnScale scale)
      : source_(source), hold_out_(hold_out) {
    const size_t d = source.columns();
    mean_.assign(d, 0);
    inverse_.assign(d, 0);
    for_each_block([&](uint64_t first, const Features& x) {
      for (uint64_t row = 0; row < x.rows(); ++row) {
        if (!is_kept(first + row)) continue;
        ++kept_;
        for_each_entry(x, row, [&](uint32_t j, float v) {
          mean_[j] += static_cast<double>(v);
          inverse_[j] += static_cast<double>(v) * static_cast<double>(v);
        });
      }
    });
    SELFNORM_CHECK(kept_ > 0);
    const double n = static_cast<double>(kept_);
    for (size_t j = 0; j < d; ++j) {
      mean_[j] /= n;
      const double variance = inverse_[j] / n - mean_[j] * mean_[j];
      const bool varies = variance > 1e-12 * (inverse_[j] / n) && variance > 0;
      inverse_[j] = !varies ? 0 : scale == ColumnScale::natural ? 1 : 1 / std::sqrt(variance);
    }
  }

  bool is_kept(uint64_t i) const { return !hold_out_ || i % kHeldOutEvery != kHeldOutEvery - 1; }
  double kept() const { return static_cast<double>(kept_); }
  uint64_t rows() const { return source_.examples(); }
  size_t columns() const { return mean_.size(); }
  // Columns that are not constant.
  uint64_t varying() const {
    return static_cast<uint64_t>(
        std::count_if(inverse_.begin(), inverse_.end(), [](double v) { return v > 0; }));
  }

  // out_i = z_i . p for all rows, held out or not
  std::vector<double> times(const std::vector<double>& p) const {
    std::vector<double> raw = slope(p), out(rows());
    const double offset = dot(raw.data(), mean_.data(), raw.size());
    for_each_block([&](uint64_t first, const Features& x) {
      parallel_ranges(x.rows(), kRowsOfOne, [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          double sum = -offset;
          for_each_entry(x, row, [&](uint32_t j, float v) { sum += raw[j] * static_cast<double>(v); });
          out[first + row] = sum;
        }
      });
    });
    return out;
  }
  // sum over the kept rows of r_i z_i
  std::vector<double> transposed_times(const std::vector<double>& r) const {
    std::vector<double> out(columns());
    double total = 0;
    for (uint64_t i = 0; i < rows(); ++i) total += is_kept(i) ? r[i] : 0;
    for_each_block([&](uint64_t first, const Features& x) {
      const uint32_t stripe = x.is_sparse ? x.columns() : kColumnsOfOne;  // whose sums one unit of work owns
      parallel_ranges(x.columns(), std::max(1u, stripe), [&](size_t begin, size_t end) {
        for (uint64_t row = 0; row < x.rows(); ++row) {
          if (!is_kept(first + row)) continue;
          const double by = r[first + row];
          if (x.is_sparse) {
            for_each_entry(x, row, [&](uint32_t j, float v) { out[j] += by * static_cast<double>(v); });
          } else {
            const float* const values = x.dense.row(row).data();
            for (size_t j = begin; j < end; ++j) out[j] += by * static_cast<double>(values[j]);
          }
        }
      });
    });
    for (size_t j = 0; j < out.size(); ++j) out[j] = (out[j] - total * mean_[j]) * inverse_[j];
    return out;
  }
  // The coefficients of the raw columns.
  std::vector<double> slope(std::vector<double> p) const {
    for (size_t j = 0; j < p.size(); ++j) p[j] *= inverse_[j];
    return p;
  }
  double mean_of(const std::vector<double>& raw_slope) const {
    return dot(raw_slope.data(), mean_.data(), raw_slope.size());
  }

 private:
  // visit(place of the first row, rows)
  template <class Visit>
  void for_each_block(const Visit& visit) const {
    for (uint64_t first = 0; first < source_.examples(); first += kProductRowsAtOnce)
      visit(first, source_.block(first, std::min(source_.examples(), first + kProductRowsAtOnce)).features);
  }

  const ExampleSource& source_;
  bool hold_out_;
  uint64_t kept_ = 0;
  std::vector<double> mean_, inverse_;
};

LinearFit conjugate_gradients(const ExampleSource& source, std::span<const double> y, bool hold_out,
                              ColumnScale scale) {
  SELFNORM_CHECK(y.size() == source.examples() && !source.is_joint());
  const CentredRows z(source, hold_out, scale);
  double mean = 0;
  for (uint64_t i = 0; i < y.size(); ++i)
    if (z.is_kept(i)) mean += y[i] / z.kept();
  const auto sum_of_squares = [&](const std::vector<double>& r, bool kept) {
    double sum = 0;
    for (uint64_t i = 0; i < r.size(); ++i)
      if (z.is_kept(i) == kept) sum += r[i] * r[i];
    return sum;
  };

  std::vector<double> residual(y.begin(), y.end());
  for (double& r : residual) r -= mean;
  LinearFit fit;
  // What the held-out rows lie above the fit: over-fitted rows do not show their true level.
  const auto mean_held_out = [&](const std::vector<double>& r) {
    double sum = 0;
    for (uint64_t i = 0; i < r.size(); ++i)
      if (!z.is_kept(i)) sum += r[i];
    return hold_out ? sum / (static_cast<double>(r.size()) - z.kept()) : 0;
  };
  double level = mean_held_out(residual);
  std::vector<double> b(z.columns()), best = b;
  double best_held_out = sum_of_squares(residual, false);
  std::vector<double> gradient = z.transposed_times(residual), direction = gradient;
  double norm = square_norm(gradient);
  const double first_norm = norm;
  int since_best = 0;
  for (int it = 0; it < kMostIterations && norm > kTolerance * kTolerance * first_norm; ++it) {
    const std::vector<double> moved = z.times(direction);
    const double step = norm / sum_of_squares(moved, true);
    if (!std::isfinite(step)) break;
    for (size_t j = 0; j < b.size(); ++j) b[j] += step * direction[j];
    for (size_t i = 0; i < residual.size(); ++i) residual[i] -= step * moved[i];
    gradient = z.transposed_times(residual);
    const double next = square_norm(gradient);
    for (size_t j = 0; j < b.size(); ++j) direction[j] = gradient[j] + next / norm * direction[j];
    norm = next;
    const double held_out = sum_of_squares(residual, false);
    if (!hold_out || held_out < best_held_out) {
      best = b;
      best_held_out = held_out;
      level = mean_held_out(residual);
      since_best = 0;
    } else if (++since_best == kPatience) {
      break;
    }
  }
  fit.slope = z.slope(best);
  fit.intercept = mean + level - z.mean_of(fit.slope);
  RunningVariance all, left;
  const std::vector<double> fitted = z.times(best);
  for (uint64_t i = 0; i < y.size(); ++i) {
    all.add(y[i]);
    left.add(y[i] - fitted[i]);
  }
  fit.variance = all.variance();
  fit.residual_variance = left.variance();
  if (!hold_out) {
    fit.rank = static_cast<uint32_t>(std::min(z.varying(), source.examples() - 1));
    fit.degrees_of_freedom = fit.rank;
  }
  return fit;
}

}  // namespace

LinearFit iterative_fit(const ExampleSource& source, std::span<const double> y) {
  return conjugate_gradients(source, y, false, ColumnScale::standardised);
}

LinearFit iterative_fit_for_prediction(const ExampleSource& source, std::span<const double> y,
                                       ColumnScale scale) {
  return conjugate_gradients(source, y, y.size() > kHeldOutEvery, scale);
}

}  // namespace selfnorm
