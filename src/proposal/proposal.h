// A proposal q over the classes 0 .. K-1: what noise samples are drawn from. Every class has q > 0, a draw
// costs O(1) for any K, and log_prob is of the distribution drawn from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "math/random.h"

namespace selfnorm {

class Proposal {
 public:
  virtual ~Proposal() = default;

  virtual uint32_t classes() const = 0;
  virtual uint32_t sample(RandomStream& random) const = 0;
  virtual double log_prob(uint32_t k) const = 0;
};

// How often each of many classes was seen, in 4 bytes a class: few of the numbers differ.
class SeenCounts {
 public:
  explicit SeenCounts(std::span<const uint64_t> counts);

  size_t classes() const { return level_.size(); }
  uint64_t operator[](uint32_t k) const { return value_[level_[k]]; }
  // The numbers there are, and which of them a class has.
  std::span<const uint64_t> values() const { return value_; }
  uint32_t level(uint32_t k) const { return level_[k]; }

 private:
  std::vector<uint32_t> level_;
  std::vector<uint64_t> value_;
};

//   uniform      q(k) = 1/K
//   log-uniform  Zipf's law without counting: q(k) = log((r+2)/(r+1)) / log(K+1), r = 0 .. K-1 the rank of
//                class k by how often it was seen, the most frequent first and equals by their index
//   unigram      q(k) = (n_k + 1)^beta / sum_j (n_j + 1)^beta with n_k how often class k was seen: beta = 1
//                follows the data, 0 is uniform, 0.75 is the classic choice in between (Mikolov et al. 2013).
//                The added 1 keeps q > 0 for classes never seen.
std::vector<std::string> proposal_names();
// These and in-batch: the targets of the other examples of a minibatch, which are draws from the classes'
// frequencies and need no proposal.
std::vector<std::string> noise_names();

// `counts` has how often each class was seen: the weights of unigram, the ranks of log-uniform, the number of
// classes (at least one) for all. `power` is beta of unigram, in [0, 1]. Throws Error for another or an
// unknown name.
std::unique_ptr<Proposal> make_proposal(const std::string& name, std::span<const uint64_t> counts,
                                        double power);

}  // namespace selfnorm
