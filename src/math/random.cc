#include "math/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace selfnorm {
namespace {

__extension__ using uint128 = unsigned __int128;

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;

// The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, uint64_t stream)
    : state_(mix(mix(seed + kGolden) ^ (stream * kGolden + 1))) {}

uint64_t RandomStream::next() { return mix(state_ += kGolden); }

double RandomStream::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

uint64_t RandomStream::below(uint64_t n) {
  const uint64_t threshold = (0 - n) % n;
  for (;;) {
    const auto product = static_cast<uint128>(next()) * n;
    if (static_cast<uint64_t>(product) >= threshold) return static_cast<uint64_t>(product >> 64);
  }
}

void RandomStream::shuffle(std::span<uint64_t> items) {
  for (uint64_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
}

std::vector<uint64_t> random_permutation(uint64_t n, RandomStream stream) {
  std::vector<uint64_t> order(n);
  std::iota(order.begin(), order.end(), uint64_t{0});
  stream.shuffle(order);
  return order;
}

}  // namespace selfnorm
