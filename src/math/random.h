// Reproducible random numbers: stream `i` of seed `s` is the SplitMix64 sequence started at a hash of (s, i).
// The whole state is one integer, so a checkpoint stores it and parallel work takes one stream a unit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace selfnorm {

class RandomStream {
 public:
  explicit RandomStream(uint64_t seed, uint64_t stream = 0);

  uint64_t next();
  double uniform();            // [0, 1), 53 random bits
  double normal();             // N(0, 1), Box-Muller
  uint64_t below(uint64_t n);  // uniform on 0 .. n-1, unbiased (Lemire's rejection)
  void shuffle(std::span<uint64_t> items);

 private:
  uint64_t state_;
};

// A uniformly random permutation of 0 .. n-1.
std::vector<uint64_t> random_permutation(uint64_t n, RandomStream stream);

}  // namespace selfnorm
