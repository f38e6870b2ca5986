#include "proposal/density/stacked.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "proposal/density/make_density.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr int kStackIterations = 500;
constexpr double kStackTolerance = 1e-7;
constexpr size_t kMostMembers = 64;

}  // namespace

Stacked::Stacked(std::vector<std::shared_ptr<const Density>> members, std::vector<double> weight)
    : members_(std::move(members)), weight_(std::move(weight)) {
  if (members_.empty() || members_.size() != weight_.size() || members_.size() > kMostMembers)
    throw_error(
        "a stacked density has {} members and {} weights; expected as many, at least one and at most {}",
        members_.size(), weight_.size(), kMostMembers);
  double total = 0, below = 0;
  for (const double w : weight_) {
    if (!(w > 0) || !std::isfinite(w)) throw_error("a stacked density has the weight {}; expected > 0", w);
    total += w;
  }
  for (const double w : weight_) {
    log_weight_.push_back(std::log(w / total));
    cumulative_.push_back(below += w / total);
  }
  cumulative_.back() = kInfinity;
  for (const auto& member : members_)
    if (member->dimension() != dimension() || member->support().space != support().space ||
        member->support().levels != support().levels || member->support().lower != support().lower ||
        member->support().upper != support().upper)
      throw Error("the members of a stacked density are over different points");
}

// All rows of a member together, in the order of the rows.
void Stacked::sample(RandomStream& random, std::span<float> rows) const {
  const size_t d = dimension(), n = rows.size() / d;
  std::vector<std::vector<size_t>> own(members_.size());
  for (size_t i = 0; i < n; ++i) {
    const auto place = std::upper_bound(cumulative_.begin(), cumulative_.end(), random.uniform());
    own[static_cast<size_t>(place - cumulative_.begin())].push_back(i);
  }
  std::vector<float> drawn;
  for (size_t m = 0; m < members_.size(); ++m) {
    drawn.resize(own[m].size() * d);
    if (!own[m].empty()) members_[m]->sample(random, drawn);
    for (size_t i = 0; i < own[m].size(); ++i)
      std::copy_n(drawn.begin() + static_cast<std::ptrdiff_t>(i * d), d,
                  rows.begin() + static_cast<std::ptrdiff_t>(own[m][i] * d));
  }
}

void Stacked::fill_shares(std::span<double> member, std::span<double> log_q) const {
  const size_t n = log_q.size();
  for (size_t i = 0; i < n; ++i) {
    LogSumExp total;
    for (size_t m = 0; m < members_.size(); ++m) total.add(member[m * n + i] += log_weight_[m]);
    log_q[i] = total.value();
    for (size_t m = 0; m < members_.size(); ++m)
      member[m * n + i] = std::isfinite(log_q[i]) ? std::exp(member[m * n + i] - log_q[i]) : 0;
  }
}

void Stacked::log_prob(const Points& x, std::span<double> out) const {
  std::vector<double> member(members_.size() * x.rows);
  for (size_t m = 0; m < members_.size(); ++m)
    members_[m]->log_prob(x, std::span(member).subspan(m * x.rows, x.rows));
  fill_shares(member, out);
}

void Stacked::log_prob_gradient(const Points& x, std::span<double> log_q, std::span<double> gradient) const {
  const size_t n = x.rows, count = members_.size();
  std::vector<double> share(count * n), own(count * x.size());
  for (size_t m = 0; m < count; ++m)
    members_[m]->log_prob_gradient(x, std::span(share).subspan(m * n, n),
                                   std::span(own).subspan(m * x.size(), x.size()));
  fill_shares(share, log_q);
  for (size_t i = 0; i < x.size(); ++i) {
    gradient[i] = 0;
    for (size_t m = 0; m < count; ++m)
      if (const double r = share[m * n + i / x.columns]; r > 0) gradient[i] += r * own[m * x.size() + i];
  }
}

void Stacked::directional(const Points& x, const Points& v, std::span<double> first,
                          std::span<double> second) const {
  const size_t n = x.rows, count = members_.size();
  std::vector<double> share(count * n), log_q(n), one(n), two(n);
  for (size_t m = 0; m < count; ++m) members_[m]->log_prob(x, std::span(share).subspan(m * n, n));
  fill_shares(share, log_q);
  std::ranges::fill(first, 0.0);
  std::ranges::fill(second, 0.0);
  for (size_t m = 0; m < count; ++m) {
    members_[m]->directional(x, v, one, two);
    for (size_t i = 0; i < n; ++i)
      if (const double r = share[m * n + i]; r > 0) {
        first[i] += r * one[i];
        second[i] += r * (two[i] + one[i] * one[i]);
      }
  }
  for (size_t i = 0; i < n; ++i) second[i] -= first[i] * first[i];
}

double Stacked::log_error() const {
  double most = 0;
  for (const auto& member : members_) most = std::max(most, member->log_error());
  return most;
}

DensityRecord Stacked::record() const {
  DensityRecord out{"stacked", {{"weight", weight_}}};
  for (size_t m = 0; m < members_.size(); ++m) {
    const DensityRecord own = members_[m]->record();
    for (const auto& [name, values] : own.values)
      out.values[fmt::format("{}.{}.{}", m, own.kind, name)] = values;
  }
  return out;
}

std::unique_ptr<Density> restore_stacked(const DensityRecord& record, uint32_t dimension) {
  const std::vector<double>& weight = record_values(record, "weight", 0);
  std::vector<DensityRecord> own(std::min(weight.size(), kMostMembers));
  for (const auto& [name, values] : record.values) {
    if (name == "weight") continue;
    const size_t first = name.find('.'), second = name.find('.', first + 1);
    size_t m = 0;
    for (size_t i = 0; i < first && i < 3; ++i) m = 10 * m + static_cast<size_t>(name[i] - '0');
    if (second == std::string::npos || m >= own.size())
      throw_error("the density 'stacked' has numbers '{}' of no member; its file is damaged", name);
    own[m].kind = name.substr(first + 1, second - first - 1);
    own[m].values[name.substr(second + 1)] = values;
  }
  std::vector<std::shared_ptr<const Density>> members;
  for (const DensityRecord& member : own) {
    if (member.kind == "stacked") throw Error("the density 'stacked' holds another; its file is damaged");
    members.push_back(make_density(member, dimension));
  }
  return std::make_unique<Stacked>(std::move(members), weight);
}

std::vector<double> stacking_weights(std::span<const double> log_q, size_t members) {
  const size_t n = log_q.size() / members;
  SELFNORM_CHECK(members > 0 && n * members == log_q.size());
  std::vector<double> weight(members, 1.0 / static_cast<double>(members)), sum(members);
  double last = -kInfinity;
  for (int step = 0; step < kStackIterations; ++step) {
    std::ranges::fill(sum, 0.0);
    double likelihood = 0, rows = 0;
    for (size_t i = 0; i < n; ++i) {
      LogSumExp total;
      for (size_t m = 0; m < members; ++m)
        if (weight[m] > 0) total.add(std::log(weight[m]) + log_q[m * n + i]);
      if (!std::isfinite(total.value())) continue;
      ++rows;
      likelihood += total.value();
      for (size_t m = 0; m < members; ++m)
        if (weight[m] > 0) sum[m] += std::exp(std::log(weight[m]) + log_q[m * n + i] - total.value());
    }
    if (rows == 0) return weight;
    for (size_t m = 0; m < members; ++m) weight[m] = sum[m] / rows;
    if (likelihood / rows - last < kStackTolerance) break;
    last = likelihood / rows;
  }
  return weight;
}

}  // namespace selfnorm
