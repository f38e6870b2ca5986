// The kernels of CRFs written once over vectors of float and double, under the rules of kernel_lanes.h. A
// vector that would reach beyond the end of a row is moved back to end with it: what two vectors hold is
// computed twice, to the same bits.
#pragma once

#include "selfnorm/runtime/kernels.h"

namespace selfnorm::runtime {
namespace {

// body(k) for vectors at k that cover 0 .. n-1; n >= width.
template <size_t width, class Body>
void for_vectors(size_t n, const Body& body) {
  for (size_t k = 0; k + width < n; k += width) body(k);
  body(n - width);
}

constexpr size_t kRowsAhead = 12;

template <class Lanes>
void add_row_vectors(const RowSum& s, size_t k, size_t l, float* out) {
  const Lanes zero = Lanes::fill(0);
  Lanes a = s.init == nullptr ? zero : Lanes::load(s.init + k);
  Lanes b = s.init == nullptr ? zero : Lanes::load(s.init + l);
  for (size_t i = 0; i < s.count; ++i) {
    if (i + kRowsAhead < s.readable) {
      const float* next = s.matrix + s.row[i + kRowsAhead] * s.width;
      __builtin_prefetch(next + k);
      __builtin_prefetch(next + l + Lanes::kWidth - 1);
    }
    const float* row = s.matrix + s.row[i] * s.width;
    if (s.value == nullptr) {
      a = add(a, Lanes::load(row + k));
      b = add(b, Lanes::load(row + l));
    } else {
      const Lanes value = Lanes::fill(s.value[i]);
      a = fma(value, Lanes::load(row + k), a);
      b = fma(value, Lanes::load(row + l), b);
    }
  }
  a.store(out + k);
  b.store(out + l);
}

// Two vectors at a time, the second moved back where the row ends.
template <class Lanes>
void add_rows(const RowSum& s, float* out) {
  constexpr size_t kWidth = Lanes::kWidth;
  if (s.width >= kWidth) {
    const size_t last = s.width - kWidth;
    for (size_t k = 0; k < s.width; k += 2 * kWidth)
      add_row_vectors<Lanes>(s, k < last ? k : last, k + kWidth < last ? k + kWidth : last, out);
    return;
  }
  for (size_t k = 0; k < s.width; ++k) out[k] = s.init == nullptr ? 0 : s.init[k];
  for (size_t i = 0; i < s.count; ++i) {
    const float* row = s.matrix + s.row[i] * s.width;
    const float value = s.value == nullptr ? 1 : s.value[i];
    for (size_t k = 0; k < s.width; ++k) out[k] += value * row[k];
  }
}

template <class Doubles>
void max_plus(const double* x, const float* matrix, size_t n, double* best, uint32_t* from) {
  constexpr size_t kWidth = Doubles::kWidth;
  if (n >= kWidth) {
    for_vectors<kWidth>(n, [&](size_t k) {
      Doubles most = Doubles::fill(-__builtin_inf()), arg = Doubles::fill(0);
      for (size_t j = 0; j < n; ++j) {
        const Doubles s = add(Doubles::fill(x[j]), Doubles::load(matrix + j * n + k));
        arg = where_greater(s, most, Doubles::fill(static_cast<double>(j)), arg);
        most = max(s, most);
      }
      most.store(best + k);
      double number[kWidth];
      arg.store(number);
      for (size_t i = 0; i < kWidth; ++i) from[k + i] = static_cast<uint32_t>(number[i]);
    });
    return;
  }
  for (size_t k = 0; k < n; ++k) {
    best[k] = -__builtin_inf();
    from[k] = 0;
    for (uint32_t j = 0; j < n; ++j) {
      const double s = x[j] + static_cast<double>(matrix[j * n + k]);
      if (s > best[k]) best[k] = s, from[k] = j;
    }
  }
}

// exp(t) = 2^m exp(r), m = round(t log2 e), |r| <= log(2)/2 + rounding, exp(r) by its Taylor polynomial of
// degree 13, whose remainder is below 5e-18. Domain t <= 0; 0 below -708.
template <class Doubles>
Doubles exp_doubles(Doubles t) {
  const Doubles low = Doubles::fill(-708), s = max(t, low);
  const Doubles m = round(fma(s, Doubles::fill(1.4426950408889634), Doubles::fill(0)));
  const Doubles r =
      fma(m, Doubles::fill(-1.9082149292705877e-10), fma(m, Doubles::fill(-0.693147180369123816490), s));
  constexpr double kInverseFactorial[] = {
      1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
      1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1,           1};
  Doubles p = Doubles::fill(kInverseFactorial[0]);
  for (size_t i = 1; i < 14; ++i) p = fma(p, r, Doubles::fill(kInverseFactorial[i]));
  return where_greater(low, t, Doubles::fill(0), fma(p, power_of_two(m), Doubles::fill(0)));
}

template <class Doubles>
void exp_shifted(const float* s, size_t n, double shift, double* out) {
  constexpr size_t kWidth = Doubles::kWidth;
  const Doubles down = Doubles::fill(-shift);
  size_t k = 0;
  for (; k + kWidth <= n; k += kWidth) exp_doubles(add(Doubles::load(s + k), down)).store(out + k);
  if (k < n) {
    float rest[kWidth];
    for (size_t i = 0; i < kWidth; ++i) rest[i] = k + i < n ? s[k + i] : -__builtin_inff();
    exp_doubles(add(Doubles::load(rest), down)).store(out + k);
    k += kWidth;
  }
  for (; k < padded(n); ++k) out[k] = 0;
}

template <class Doubles>
SumLeast scaled_product(size_t n, const double* x, const double* matrix, const double* factor, double* out) {
  constexpr size_t kWidth = Doubles::kWidth;
  const size_t stride = padded(n);
  Doubles total = Doubles::fill(0), few = Doubles::fill(-__builtin_inf());
  double least = __builtin_inf();
  for (size_t k = 0; k < n; k += kWidth) {
    Doubles even = Doubles::fill(0), odd = even;
    size_t j = 0;
    for (; j + 2 <= n; j += 2) {
      even = fma(Doubles::fill(x[j]), Doubles::load(matrix + j * stride + k), even);
      odd = fma(Doubles::fill(x[j + 1]), Doubles::load(matrix + (j + 1) * stride + k), odd);
    }
    if (j < n) even = fma(Doubles::fill(x[j]), Doubles::load(matrix + j * stride + k), even);
    even = add(even, odd);
    if (factor != nullptr) even = fma(even, Doubles::load(factor + k), Doubles::fill(0));
    even.store(out + k);
    total = add(total, even);
    if (k + kWidth <= n) {
      few = max(fma(even, Doubles::fill(-1), Doubles::fill(0)), few);
    } else {
      for (size_t i = k; i < n; ++i) least = out[i] < least ? out[i] : least;
    }
  }
  for (size_t k = (n + kWidth - 1) / kWidth * kWidth; k < stride; ++k) out[k] = 0;
  double minus[kWidth];
  few.store(minus);
  for (const double m : minus) least = -m < least ? -m : least;
  return {sum(total), least};
}

template <class Doubles>
void dots(size_t n, const double* matrix, const double* x, double* out) {
  const size_t stride = padded(n);
  for (size_t j = 0; j < n; ++j) {
    Doubles total = Doubles::fill(0);
    for (size_t k = 0; k < n; k += Doubles::kWidth)
      total = fma(Doubles::load(matrix + j * stride + k), Doubles::load(x + k), total);
    out[j] = sum(total);
  }
  for (size_t j = n; j < stride; ++j) out[j] = 0;
}

template <class Doubles>
double products(size_t n, double a, const double* x, const double* y, double* out) {
  Doubles total = Doubles::fill(0);
  for (size_t k = 0; k < padded(n); k += Doubles::kWidth) {
    const Doubles v = fma(fma(Doubles::load(x + k), Doubles::fill(a), Doubles::fill(0)), Doubles::load(y + k),
                          Doubles::fill(0));
    v.store(out + k);
    total = add(total, v);
  }
  return sum(total);
}

template <class Lanes>
constexpr CrfKernels crf_kernels_of() {
  using Doubles = typename Lanes::Doubles;
  return {add_rows<Lanes>,         max_plus<Doubles>, exp_shifted<Doubles>,
          scaled_product<Doubles>, dots<Doubles>,     products<Doubles>};
}

}  // namespace
}  // namespace selfnorm::runtime
