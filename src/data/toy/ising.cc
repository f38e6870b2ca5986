#include <algorithm>

#include "kinds.h"
#include "selfnorm/base/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

// All 2^d states; bit j of a state is x_j.
class Ising final : public Toy {
 public:
  Ising(uint32_t dimension, const IsingParameters& parameters) : dimension_(dimension) {
    const size_t states = size_t{1} << dimension;
    log_p_.assign(states, 0);
    // The score of a state is that of the state without its highest bit, plus that bit's share.
    for (uint32_t j = 0; j < dimension; ++j) {
      for (size_t low = 0; low < size_t{1} << j; ++low) {
        double share = parameters.bias[j];
        for (uint32_t i = 0; i < j; ++i)
          if ((low >> i & 1) != 0) share += parameters.coupling[pair(i, j)];
        log_p_[low | size_t{1} << j] = log_p_[low] + share;
      }
    }
    LogSumExp total;
    for (const double s : log_p_) total.add(s);
    double sum = 0;
    for (double& s : log_p_) {
      s -= total.value();
      sum += std::exp(s);
      cumulative_.push_back(sum);
    }
  }

  uint32_t dimension() const override { return dimension_; }
  Support support() const override { return Support::binary(dimension_); }
  void draw(RandomStream& random, std::span<float> x) const override {
    const double u = random.uniform() * cumulative_.back();
    const auto place = std::upper_bound(cumulative_.begin(), cumulative_.end(), u);
    const auto state = std::min(static_cast<size_t>(place - cumulative_.begin()), cumulative_.size() - 1);
    for (uint32_t j = 0; j < dimension_; ++j) x[j] = static_cast<float>(state >> j & 1);
  }
  double log_density(std::span<const float> x) const override {
    if (!contains(support(), x)) return -INFINITY;
    size_t state = 0;
    for (uint32_t j = 0; j < dimension_; ++j) state |= static_cast<size_t>(x[j]) << j;
    return log_p_[state];
  }
  double entropy() const override {
    double sum = 0;
    for (const double log_p : log_p_) sum -= std::exp(log_p) * log_p;
    return sum;
  }

 private:
  size_t pair(uint32_t i, uint32_t j) const {  // (i, j), i < j, row by row
    return size_t{i} * (2 * size_t{dimension_} - i - 1) / 2 + (j - i - 1);
  }

  uint32_t dimension_;
  std::vector<double> log_p_, cumulative_;
};

}  // namespace

// sum_j h_j s_j + sum J_ij s_i s_j with s = 2 x - 1: couplings 4 J_ij, biases 2 h_j - 2 sum_i J_ij.
IsingParameters ising_parameters(uint32_t dimension, uint64_t seed) {
  RandomStream random(seed, dimension);
  IsingParameters out;
  for (uint32_t j = 0; j < dimension; ++j) out.bias.push_back(2 * 0.3 * random.normal());
  for (uint32_t i = 0; i < dimension; ++i) {
    for (uint32_t j = i + 1; j < dimension; ++j) {
      const double coupling = random.normal() / std::sqrt(dimension);
      out.coupling.push_back(4 * coupling);
      out.bias[i] -= 2 * coupling;
      out.bias[j] -= 2 * coupling;
    }
  }
  return out;
}

std::unique_ptr<Toy> make_ising(uint32_t dimension, uint64_t seed) {
  return std::make_unique<Ising>(dimension, ising_parameters(dimension, seed));
}

}  // namespace selfnorm
