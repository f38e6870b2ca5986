#include "proposal/proposal.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/failure.h"

namespace selfnorm {
namespace {

class Uniform final : public Proposal {
 public:
  explicit Uniform(uint32_t classes) : classes_(classes) {}

  uint32_t classes() const override { return classes_; }
  uint32_t sample(RandomStream& random) const override {
    return static_cast<uint32_t>(random.below(classes_));
  }
  double log_prob(uint32_t /*k*/) const override { return -std::log(static_cast<double>(classes_)); }

 private:
  uint32_t classes_;
};

// Drawn by inversion: r = floor((K+1)^u) - 1 for u uniform on [0, 1).
class LogUniform final : public Proposal {
 public:
  explicit LogUniform(std::span<const uint64_t> counts)
      : rank_(counts.size()),
        class_of_(counts.size()),
        log_range_(std::log(static_cast<double>(counts.size()) + 1)) {
    std::iota(class_of_.begin(), class_of_.end(), 0u);
    std::stable_sort(class_of_.begin(), class_of_.end(),
                     [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
    for (uint32_t r = 0; r < class_of_.size(); ++r) rank_[class_of_[r]] = r;
  }

  uint32_t classes() const override { return static_cast<uint32_t>(rank_.size()); }
  uint32_t sample(RandomStream& random) const override {
    const double rank = std::floor(std::exp(random.uniform() * log_range_)) - 1;
    return class_of_[std::min(static_cast<size_t>(rank), class_of_.size() - 1)];
  }
  double log_prob(uint32_t k) const override {
    return std::log(std::log1p(1 / (static_cast<double>(rank_[k]) + 1)) / log_range_);
  }

 private:
  std::vector<uint32_t> rank_;      // of a class
  std::vector<uint32_t> class_of_;  // of a rank
  double log_range_;                // log(K + 1)
};

// Walker's alias table (Vose 1991): K columns of equal mass 1/K, each split between its own class and at most
// one other, so a draw is one column and one comparison.
class Unigram final : public Proposal {
 public:
  Unigram(std::span<const uint64_t> counts, double beta)
      : counts_(counts), own_(counts.size()), other_(counts.size()) {
    require_range(beta >= 0 && beta <= 1, "proposal-power", beta, "a number in [0, 1]");
    const auto classes = static_cast<uint32_t>(counts.size());
    std::vector<double> mass;
    for (const uint64_t n : counts_.values()) mass.push_back(std::pow(static_cast<double>(n) + 1, beta));
    double total = 0;
    for (uint32_t k = 0; k < classes; ++k) total += mass[counts_.level(k)];
    for (const double m : mass) log_prob_.push_back(std::log(m / total));
    std::vector<uint32_t> small, large;
    for (uint32_t k = 0; k < classes; ++k) {  // in units of a column, 1/K
      own_[k] = mass[counts_.level(k)] * (static_cast<double>(classes) / total);
      (own_[k] < 1 ? small : large).push_back(k);
    }
    // A small class fills its column with the surplus of a large one. Rounding may leave a few of either,
    // which are whole columns but for that rounding.
    while (!small.empty() && !large.empty()) {
      const uint32_t poor = small.back(), rich = large.back();
      small.pop_back();
      other_[poor] = rich;
      own_[rich] -= 1 - own_[poor];
      if (own_[rich] < 1) {
        large.pop_back();
        small.push_back(rich);
      }
    }
    for (const auto* rest : {&small, &large})
      for (const uint32_t k : *rest) own_[k] = 1;
  }

  uint32_t classes() const override { return static_cast<uint32_t>(own_.size()); }
  uint32_t sample(RandomStream& random) const override {
    const auto k = static_cast<uint32_t>(random.below(own_.size()));
    return random.uniform() < own_[k] ? k : other_[k];
  }
  double log_prob(uint32_t k) const override { return log_prob_[counts_.level(k)]; }

 private:
  SeenCounts counts_;
  std::vector<double> own_;       // share of a column that belongs to its own class
  std::vector<uint32_t> other_;   // whose the rest is
  std::vector<double> log_prob_;  // of those that were seen so often
};

}  // namespace

SeenCounts::SeenCounts(std::span<const uint64_t> counts) {
  std::unordered_map<uint64_t, uint32_t> level;
  level_.reserve(counts.size());
  for (const uint64_t n : counts) {
    const auto [place, is_new] = level.emplace(n, static_cast<uint32_t>(value_.size()));
    if (is_new) value_.push_back(n);
    level_.push_back(place->second);
  }
}

std::vector<std::string> proposal_names() { return {"uniform", "unigram", "log-uniform"}; }

std::vector<std::string> noise_names() {
  std::vector<std::string> names = proposal_names();
  names.emplace_back("in-batch");
  return names;
}

std::unique_ptr<Proposal> make_proposal(const std::string& name, std::span<const uint64_t> counts,
                                        double power) {
  SELFNORM_CHECK(!counts.empty());
  if (name == "uniform") return std::make_unique<Uniform>(static_cast<uint32_t>(counts.size()));
  if (name == "unigram") return std::make_unique<Unigram>(counts, power);
  if (name == "log-uniform") return std::make_unique<LogUniform>(counts);
  throw_error("noise '{}' is not known; expected one of {}", name, fmt::join(proposal_names(), ", "));
}

}  // namespace selfnorm
