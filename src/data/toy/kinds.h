// The toys by kind, and the integral that some of their entropies are.
#pragma once

#include <cmath>
#include <functional>
#include <numbers>

#include "data/toy/toys.h"

namespace selfnorm {

std::unique_ptr<Toy> make_checkerboard();
std::unique_ptr<Toy> make_funnel();
std::unique_ptr<Toy> make_pinwheel();

std::unique_ptr<Toy> make_four_circles();
std::unique_ptr<Toy> make_two_moons();
std::unique_ptr<Toy> make_ring();
std::unique_ptr<Toy> make_spirals();

std::unique_ptr<Toy> make_eight_gaussians();
std::unique_ptr<Toy> make_mixture(uint32_t dimension);
std::unique_ptr<Toy> make_gaussian(uint32_t dimension);

std::unique_ptr<Toy> make_ising(uint32_t dimension, uint64_t seed);

// -log N(x; 0, 1) = kLogRoot + x^2 / 2; the entropy of N(0, 1) is kLogRoot + 1/2.
inline const double kLogRoot = std::log(2 * std::numbers::pi) / 2;

// -int p log p over [-half_width, half_width]^2 by the trapezoid rule, whose error for densities of Gaussian
// noise falls like exp(-2 pi^2 sigma^2 / step^2).
double plane_entropy(const std::function<double(double, double)>& log_density, double half_width,
                     double step);

}  // namespace selfnorm
