#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "family/classifier/trainer.h"
#include "math/random.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kHoldOutStream = 0x686f6c646f7574;  // "holdout"

}  // namespace

HeldOut hold_out(uint64_t n, double fraction, uint64_t seed) {
  if (n < 2)
    throw Error(fmt::format("cannot hold out validation data from {} example(s); give more, or --valid", n));
  if (!(fraction > 0 && fraction < 1))
    throw Error(fmt::format("hold-out = {} is out of range; expected 0 < x < 1", fraction));
  const std::vector<uint64_t> order = random_permutation(n, RandomStream(seed, kHoldOutStream));
  const auto count = static_cast<int64_t>(
      std::clamp<uint64_t>(static_cast<uint64_t>(std::llround(fraction * static_cast<double>(n))), 1, n / 2));
  HeldOut out{{order.begin() + count, order.end()}, {order.begin(), order.begin() + count}};
  std::sort(out.train.begin(), out.train.end());
  std::sort(out.valid.begin(), out.valid.end());
  return out;
}

}  // namespace selfnorm
