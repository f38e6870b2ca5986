// Exact sums over all points of a support of levels (binary vectors: 2^d points). Points are numbered
// 0 .. N-1 with the last coordinate fastest; blocks of them go through Energy::score.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "model/energy/energy.h"
#include "normalizer/log_z_estimate.h"

namespace selfnorm {

constexpr uint64_t kMostPoints = uint64_t{1} << 24;

// The number of points of the support, or 0 when it is infinite or above kMostPoints.
uint64_t countable_points(const Support& support);
// Points begin .. end-1 of a support of levels, row-major.
void enumerate_points(const Support& support, uint64_t begin, uint64_t end, std::span<float> out);

// log Z = log sum_x exp s(x). Throws Error when the support has no countable_points or a score is NaN or
// +inf.
LogZEstimate enumerate_log_z(const Energy& energy);

// f(x, out) overwrites out with `count` numbers.
using PointFunction = std::function<void(std::span<const float>, std::span<double>)>;
// E f = sum_x p(x) f(x), p = exp(s) / Z; f may be called from several threads.
std::vector<double> enumerate_mean(const Energy& energy, size_t count, const PointFunction& f);

}  // namespace selfnorm
