#include "proposal/proposal.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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
  Unigram(std::span<const uint64_t> counts, double beta) : column_(counts.size()), log_prob_(counts.size()) {
    require_range(beta >= 0 && beta <= 1, "proposal-power", beta, "a number in [0, 1]");
    const auto classes = static_cast<uint32_t>(counts.size());
    std::vector<double> mass(classes);  // in units of a column, 1/K
    double total = 0;
    for (uint32_t k = 0; k < classes; ++k)
      total += mass[k] = std::pow(static_cast<double>(counts[k]) + 1, beta);
    std::vector<uint32_t> small, large;
    for (uint32_t k = 0; k < classes; ++k) {
      log_prob_[k] = std::log(mass[k] / total);
      mass[k] *= static_cast<double>(classes) / total;
      (mass[k] < 1 ? small : large).push_back(k);
    }
    // A small class fills its column with the surplus of a large one. Rounding may leave a few of either,
    // which are whole columns but for that rounding.
    while (!small.empty() && !large.empty()) {
      const uint32_t poor = small.back(), rich = large.back();
      small.pop_back();
      column_[poor] = {.own = mass[poor], .other = rich};
      mass[rich] -= 1 - mass[poor];
      if (mass[rich] < 1) {
        large.pop_back();
        small.push_back(rich);
      }
    }
  }

  uint32_t classes() const override { return static_cast<uint32_t>(column_.size()); }
  uint32_t sample(RandomStream& random) const override {
    const auto k = static_cast<uint32_t>(random.below(column_.size()));
    return random.uniform() < column_[k].own ? k : column_[k].other;
  }
  double log_prob(uint32_t k) const override { return log_prob_[k]; }

 private:
  struct Column {
    double own = 1;  // share of the column that belongs to its own class
    uint32_t other = 0;
  };

  std::vector<Column> column_;
  std::vector<double> log_prob_;
};

}  // namespace

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
