// Operations on parameter vectors, parallel over fixed pieces: the bits do not depend on the threads. Where
// it is said, processes share the pieces of long ones: all of them call it, with the same vectors, and get
// the same bits.
#pragma once

#include <span>
#include <vector>

#include "math/kernels.h"

namespace selfnorm {

template <class Real>
double inner_product(std::span<const Real> x, std::span<const Real> y);
template <class Real>
double shared_inner_product(std::span<const Real> x, std::span<const Real> y);  // by processes, too

// y <- y + a x
template <class Real>
void add_multiple(double a, std::span<const Real> x, std::span<Real> y);

// y <- a y
template <class Real>
void multiply(double a, std::span<Real> y);

// out <- x + a y
template <class Real>
void sum_with_multiple(std::span<const Real> x, double a, std::span<const Real> y, std::span<Real> out);

// (v . a, v . b) for every v, reading each v from memory once. Shared by processes.
template <class Real>
std::vector<ProductPair> inner_products(std::span<const Real* const> vectors, std::span<const Real> a,
                                        std::span<const Real> b);

// out <- sum_j coefficient_j vector_j, with out read and written in cache. Shared by processes.
template <class Real>
void combine(std::span<const double> coefficients, std::span<const Real* const> vectors, std::span<Real> out);

// sum_i |x_i|
template <class Real>
double absolute_sum(std::span<const Real> x);

}  // namespace selfnorm
