#include "math/vector.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "math/parallel.h"
#include "math/process/shared_loop.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kPiece = 1 << 15;
constexpr size_t kSharedPieces = 16;  // fewer are computed sooner than they are exchanged

// body(begin, end) over the pieces of [0, n), of which piece p writes out[begin_of(p)] .. out[begin_of(p + 1)
// - 1].
template <class Body, class T, class BeginOf>
void shared_pieces(size_t n, const Body& body, T* out, const BeginOf& begin_of) {
  const size_t pieces = (n + kPiece - 1) / kPiece;
  Communicator* const all = pieces < kSharedPieces ? nullptr : current_communicator();
  if (all == nullptr) return parallel_ranges(n, kPiece, body);
  share_units(
      *all, pieces, [&](size_t p) { body(p * kPiece, std::min(n, (p + 1) * kPiece)); },
      shared_array(*all, pieces, out, begin_of));
}

}  // namespace

template <class Real>
double inner_product(std::span<const Real> x, std::span<const Real> y) {
  SELFNORM_CHECK(x.size() == y.size());
  return ordered_sum(x.size(), kPiece, [&](size_t begin, size_t end) {
    return dot(x.data() + begin, y.data() + begin, end - begin);
  });
}

template <class Real>
double shared_inner_product(std::span<const Real> x, std::span<const Real> y) {
  SELFNORM_CHECK(x.size() == y.size());
  std::vector<double> parts((x.size() + kPiece - 1) / kPiece);
  shared_pieces(
      x.size(),
      [&](size_t begin, size_t end) {
        parts[begin / kPiece] = dot(x.data() + begin, y.data() + begin, end - begin);
      },
      parts.data(), [](size_t p) { return p; });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

template <class Real>
void add_multiple(double a, std::span<const Real> x, std::span<Real> y) {
  SELFNORM_CHECK(x.size() == y.size());
  parallel_ranges(x.size(), kPiece, [&](size_t begin, size_t end) {
    add_scaled(static_cast<Real>(a), x.data() + begin, y.data() + begin, end - begin);
  });
}

template <class Real>
void multiply(double a, std::span<Real> y) {
  parallel_ranges(y.size(), kPiece, [&](size_t begin, size_t end) {
    scale(static_cast<Real>(a), y.data() + begin, end - begin);
  });
}

template <class Real>
void sum_with_multiple(std::span<const Real> x, double a, std::span<const Real> y, std::span<Real> out) {
  SELFNORM_CHECK(x.size() == y.size() && x.size() == out.size());
  const Real factor = static_cast<Real>(a);
  parallel_ranges(x.size(), kPiece, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out[i] = x[i] + factor * y[i];
  });
}

template <class Real>
std::vector<ProductPair> inner_products(std::span<const Real* const> vectors, std::span<const Real> a,
                                        std::span<const Real> b) {
  SELFNORM_CHECK(a.size() == b.size());
  const size_t count = vectors.size();
  const size_t pieces = (a.size() + kPiece - 1) / kPiece;
  std::vector<ProductPair> parts(pieces * count);
  shared_pieces(
      a.size(),
      [&](size_t begin, size_t end) {
        ProductPair* part = parts.data() + begin / kPiece * count;
        for (size_t j = 0; j < count; ++j)
          part[j] = dot_pair(vectors[j] + begin, a.data() + begin, b.data() + begin, end - begin);
      },
      parts.data(), [&](size_t p) { return p * count; });
  std::vector<ProductPair> sums(count);
  for (size_t p = 0; p < parts.size(); ++p) {
    sums[p % count].a += parts[p].a;
    sums[p % count].b += parts[p].b;
  }
  return sums;
}

template <class Real>
void combine(std::span<const double> coefficients, std::span<const Real* const> vectors,
             std::span<Real> out) {
  SELFNORM_CHECK(coefficients.size() == vectors.size());
  shared_pieces(
      out.size(),
      [&](size_t begin, size_t end) {
        std::fill(out.data() + begin, out.data() + end, Real{0});
        for (size_t j = 0; j < vectors.size(); ++j)
          add_scaled(static_cast<Real>(coefficients[j]), vectors[j] + begin, out.data() + begin, end - begin);
      },
      out.data(), [&](size_t p) { return std::min(out.size(), p * kPiece); });
}

template <class Real>
double absolute_sum(std::span<const Real> x) {
  return ordered_sum(x.size(), kPiece, [&](size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += std::abs(static_cast<double>(x[i]));
    return sum;
  });
}

#define SELFNORM_INSTANTIATE(Real)                                                                        \
  template double inner_product(std::span<const Real>, std::span<const Real>);                            \
  template double shared_inner_product(std::span<const Real>, std::span<const Real>);                     \
  template void add_multiple(double, std::span<const Real>, std::span<Real>);                             \
  template void multiply(double, std::span<Real>);                                                        \
  template void sum_with_multiple(std::span<const Real>, double, std::span<const Real>, std::span<Real>); \
  template std::vector<ProductPair> inner_products(std::span<const Real* const>, std::span<const Real>,   \
                                                   std::span<const Real>);                                \
  template void combine(std::span<const double>, std::span<const Real* const>, std::span<Real>);          \
  template double absolute_sum(std::span<const Real>);

SELFNORM_INSTANTIATE(float)
SELFNORM_INSTANTIATE(double)

}  // namespace selfnorm
