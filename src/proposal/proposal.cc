#include "proposal/proposal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/range.h"
#include "selfnorm/error.h"

namespace selfnorm {

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
  throw Error(
      fmt::format("noise '{}' is not known; expected one of {}", name, fmt::join(proposal_names(), ", ")));
}

uint32_t Uniform::sample(RandomStream& random) const { return static_cast<uint32_t>(random.below(classes_)); }

double Uniform::log_prob(uint32_t /*k*/) const { return -std::log(static_cast<double>(classes_)); }

LogUniform::LogUniform(std::span<const uint64_t> counts)
    : rank_(counts.size()),
      class_of_(counts.size()),
      log_range_(std::log(static_cast<double>(counts.size()) + 1)) {
  std::iota(class_of_.begin(), class_of_.end(), 0u);
  std::stable_sort(class_of_.begin(), class_of_.end(),
                   [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
  for (uint32_t r = 0; r < class_of_.size(); ++r) rank_[class_of_[r]] = r;
}

uint32_t LogUniform::sample(RandomStream& random) const {
  const double rank = std::floor(std::exp(random.uniform() * log_range_)) - 1;
  return class_of_[std::min(static_cast<size_t>(rank), class_of_.size() - 1)];
}

double LogUniform::log_prob(uint32_t k) const {
  return std::log(std::log1p(1 / (static_cast<double>(rank_[k]) + 1)) / log_range_);
}

Unigram::Unigram(std::span<const uint64_t> counts, double beta)
    : column_(counts.size()), log_prob_(counts.size()) {
  require_range(beta >= 0 && beta <= 1, "noise-power", beta, "a number in [0, 1]");
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
  // A small class fills its column with the surplus of a large one. Rounding may leave a few of either, which
  // are whole columns but for that rounding.
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

uint32_t Unigram::sample(RandomStream& random) const {
  const auto k = static_cast<uint32_t>(random.below(column_.size()));
  return random.uniform() < column_[k].own ? k : column_[k].other;
}

}  // namespace selfnorm
