// A proposal q over the classes 0 .. K-1: what noise samples are drawn from. Every class has q > 0, a draw
// costs O(1) for any K, and log_prob is of the distribution drawn from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "selfnorm/math/random.h"

namespace selfnorm {

class Proposal {
 public:
  virtual ~Proposal() = default;

  virtual uint32_t classes() const = 0;
  virtual uint32_t sample(RandomStream& random) const = 0;
  virtual double log_prob(uint32_t k) const = 0;
};

// uniform, unigram, log-uniform.
std::vector<std::string> proposal_names();
// These and in-batch: the targets of the other examples of a minibatch, which are draws from the classes'
// frequencies and need no proposal.
std::vector<std::string> noise_names();

// `counts` has how often each class was seen: the weights of unigram, the ranks of log-uniform, the number of
// classes (at least one) for all. `power` is beta of unigram. Throws Error for an unknown name.
std::unique_ptr<Proposal> make_proposal(const std::string& name, std::span<const uint64_t> counts,
                                        double power);

}  // namespace selfnorm
