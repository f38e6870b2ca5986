#include "selfnorm/normalizer/hmc_chains.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/math/parallel.h"

namespace selfnorm {
namespace {

constexpr size_t kHmcChains = 32;  // a unit of parallel work

template <class Body>
void each_chain(size_t chains, const Body& body) {
  parallel_ranges(chains, kHmcChains, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) body(i);
  });
}

double half_square(std::span<const double> p) {
  double sum = 0;
  for (const double v : p) sum += v * v;
  return sum / 2;
}

template <class T>
void copy_row(const std::vector<T>& from, std::vector<T>& to, size_t i, size_t d) {
  if (!from.empty()) std::copy_n(from.data() + i * d, d, to.data() + i * d);
}

}  // namespace

HmcChains::HmcChains(const AnnealingPath& path, const Points& start, uint64_t seed)
    : path_(path),
      walls_(path.support()),
      chains_(start.rows),
      dimension_(path.dimension()),
      x_(start.data, start.data + start.size()),
      momentum_(x_.size()),
      hamiltonian_(chains_),
      acceptance_(chains_),
      is_lost_(chains_),
      lengths_(seed, chains_) {
  for (uint64_t i = 0; i < chains_; ++i) random_.emplace_back(seed, i);
  path_.evaluate_gradient(points(), values_);
  evaluations_ = chains_;
}

void HmcChains::kick(double beta, const Move& move, size_t i) {
  const PathValues& at = proposed_values_;
  for (size_t j = 0, k = i * dimension_; j < dimension_; ++j, ++k) {
    const double slope = (at.start_gradient.empty() ? 0 : at.start_gradient[k]) +
                         (beta == 0 ? 0 : beta * at.weight_gradient[k]);
    momentum_[k] += move.step / 2 * move.scale[j] * slope;
  }
}

void HmcChains::drift(const Move& move, size_t i) {
  if (is_lost_[i]) return;
  for (uint32_t j = 0; j < dimension_; ++j) {
    const size_t k = i * dimension_ + j;
    proposed_[k] = walls_.reflect(
        j, static_cast<double>(proposed_[k]) + move.step * move.scale[j] * momentum_[k], momentum_[k]);
    if (!std::isfinite(proposed_[k])) is_lost_[i] = 1;
  }
  if (is_lost_[i]) copy_row(x_, proposed_, i, dimension_);
}

double HmcChains::transition(double beta, const Move& move) {
  const size_t d = dimension_;
  const auto momentum = [&](size_t i) { return std::span(momentum_).subspan(i * d, d); };
  proposed_ = x_;
  proposed_values_ = values_;
  each_chain(chains_, [&](size_t i) {
    for (double& p : momentum(i)) p = random_[i].normal();
    hamiltonian_[i] = half_square(momentum(i)) - values_.at(beta, i);
    is_lost_[i] = 0;
  });
  const uint64_t length = 1 + lengths_.below(move.leapfrog);
  for (uint64_t l = 0; l < length; ++l) {
    each_chain(chains_, [&](size_t i) {
      kick(beta, move, i);
      drift(move, i);
    });
    path_.evaluate_gradient({proposed_.data(), chains_, dimension_}, proposed_values_);
    each_chain(chains_, [&](size_t i) { kick(beta, move, i); });
  }
  evaluations_ += length * chains_;
  each_chain(chains_, [&](size_t i) {
    const double rise = half_square(momentum(i)) - proposed_values_.at(beta, i) - hamiltonian_[i];
    const bool is_stuck = is_lost_[i] || std::isinf(hamiltonian_[i]) || std::isnan(rise);
    acceptance_[i] = is_stuck ? 0 : std::exp(-std::max(0.0, rise));
    if (random_[i].uniform() >= acceptance_[i]) return;
    copy_row(proposed_, x_, i, d);
    copy_row(proposed_values_.start, values_.start, i, 1);
    copy_row(proposed_values_.weight, values_.weight, i, 1);
    copy_row(proposed_values_.start_gradient, values_.start_gradient, i, d);
    copy_row(proposed_values_.weight_gradient, values_.weight_gradient, i, d);
  });
  double sum = 0;
  for (const double a : acceptance_) sum += a;
  return sum / static_cast<double>(chains_);
}

}  // namespace selfnorm
