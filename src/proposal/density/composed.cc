#include "proposal/density/composed.h"

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

namespace {

constexpr uint64_t kMassStream = 0x7C07;
// Draws in a row that are all outside: with the least mass there is one in exp(1000) such rows.
constexpr auto kMostOutside = static_cast<uint64_t>(1000 / Truncated::kLeastMass);

bool is_within(const Support& inner, const Support& box) {
  if (inner.lower.empty()) return false;
  for (size_t j = 0; j < box.lower.size(); ++j)
    if (inner.lower[j] < box.lower[j] || inner.upper[j] > box.upper[j]) return false;
  return true;
}

}  // namespace

Truncated::Truncated(std::shared_ptr<const Density> inner, const Support& box, uint64_t seed)
    : inner_(std::move(inner)), box_(box) {
  check();
  std::vector<float> rows(kMassDraws * dimension());
  sample_density(*inner_, RandomStream(seed, kMassStream).next(), rows, {});
  uint64_t inside = 0;
  for (uint64_t i = 0; i < kMassDraws; ++i)
    inside += contains(box_, std::span(rows).subspan(i * dimension(), dimension())) ? 1 : 0;
  const double mass = static_cast<double>(inside) / kMassDraws;
  if (mass < kLeastMass)
    throw_error(
        "a density '{}' fitted to the data has {:.2g} of its mass between `lower` and `upper`; expected {} "
        "or "
        "more: use another `proposal`, or `proposal uniform`",
        inner_->record().kind, mass, kLeastMass);
  log_mass_ = std::log(mass);
  log_error_ = std::sqrt((1 - mass) / (mass * kMassDraws));
}

Truncated::Truncated(std::shared_ptr<const Density> inner, const Support& box, double log_mass,
                     double log_error)
    : inner_(std::move(inner)), box_(box), log_mass_(log_mass), log_error_(log_error) {
  check();
  if (!(log_mass_ <= 0 && log_mass_ >= std::log(kLeastMass) - 1e-9 && log_error_ >= 0 && log_error_ < 1))
    throw_error("a truncated density has the mass exp({}) and the error {}; its file is damaged", log_mass_,
                log_error_);
}

void Truncated::check() const {
  const Support whole = inner_->support();
  if (!whole.is_real() || !whole.lower.empty())
    throw_error("a density '{}' cannot be truncated: it is not over all real numbers", inner_->record().kind);
  if (box_.lower.size() != dimension() || box_.upper.size() != dimension())
    throw_error("a box of {} columns truncates a density of {}", box_.lower.size(), dimension());
  for (size_t j = 0; j < box_.lower.size(); ++j)
    if (!(box_.lower[j] < box_.upper[j])) throw Error("a box needs lower ends below its upper ones");
}

// Draws of a round beyond what is missing keep rounds few; those that are not needed are left.
void Truncated::sample(RandomStream& random, std::span<float> rows) const {
  const size_t d = dimension();
  const double share = std::exp(log_mass_);
  std::vector<float> drawn;
  uint64_t outside = 0;
  for (size_t have = 0; have < rows.size();) {
    if (outside > kMostOutside)
      throw_error(
          "{} draws of a truncated density are all outside its box, which is said to have {:.2g} of its "
          "mass; "
          "its file is damaged",
          outside, share);
    const size_t missing = (rows.size() - have) / d;
    drawn.resize(d * static_cast<size_t>(std::ceil(1.1 * static_cast<double>(missing) / share) + 4));
    inner_->sample(random, drawn);
    for (size_t i = 0; i < drawn.size() && have < rows.size(); i += d) {
      if (!contains(box_, std::span(drawn).subspan(i, d))) {
        ++outside;
        continue;
      }
      outside = 0;
      std::copy_n(drawn.begin() + static_cast<std::ptrdiff_t>(i), d,
                  rows.begin() + static_cast<std::ptrdiff_t>(have));
      have += d;
    }
  }
}

void Truncated::log_prob(const Points& x, std::span<double> out) const {
  inner_->log_prob(x, out);
  for (uint64_t i = 0; i < x.rows; ++i) out[i] = contains(box_, x.row(i)) ? out[i] - log_mass_ : -kInfinity;
}

void Truncated::log_prob_gradient(const Points& x, std::span<double> log_q,
                                  std::span<double> gradient) const {
  inner_->log_prob_gradient(x, log_q, gradient);
  for (uint64_t i = 0; i < x.rows; ++i) {
    if (contains(box_, x.row(i))) {
      log_q[i] -= log_mass_;
      continue;
    }
    log_q[i] = -kInfinity;
    std::ranges::fill(gradient.subspan(i * dimension(), dimension()), 0.0);
  }
}

void Truncated::directional(const Points& x, const Points& v, std::span<double> first,
                            std::span<double> second) const {
  inner_->directional(x, v, first, second);
  for (uint64_t i = 0; i < x.rows; ++i)
    if (!contains(box_, x.row(i))) first[i] = second[i] = 0;
}

DensityRecord Truncated::record() const {
  DensityRecord out{"truncated", {{"mass", {log_mass_, log_error_}}}};
  const DensityRecord own = inner_->record();
  for (const auto& [name, values] : own.values) out.values[own.kind + "." + name] = values;
  for (size_t j = 0; j < dimension(); ++j) {
    out.values["lower"].push_back(box_.lower[j]);
    out.values["upper"].push_back(box_.upper[j]);
    out.values["has_lower"].push_back(std::isfinite(box_.lower[j]) ? 1 : 0);
    out.values["has_upper"].push_back(std::isfinite(box_.upper[j]) ? 1 : 0);
    if (!std::isfinite(box_.lower[j])) out.values["lower"].back() = 0;
    if (!std::isfinite(box_.upper[j])) out.values["upper"].back() = 0;
  }
  return out;
}

std::unique_ptr<Density> truncated_to(const Support& space, std::unique_ptr<Density> density, uint64_t seed) {
  if (!space.is_real() || space.lower.empty() || !space.wraps.empty()) return density;
  if (is_within(density->support(), space)) return density;
  return std::make_unique<Truncated>(std::shared_ptr<const Density>(std::move(density)), space, seed);
}

std::unique_ptr<Density> restore_truncated(const DensityRecord& record, uint32_t dimension) {
  const auto ends = [&](const char* name, const char* has, double none) {
    std::vector<double> out = record_values(record, name, dimension);
    const std::vector<double>& is_there = record_values(record, has, dimension);
    for (uint32_t j = 0; j < dimension; ++j)
      if (is_there[j] == 0) out[j] = none;
    return out;
  };
  const Support box =
      Support::box(ends("lower", "has_lower", -kInfinity), ends("upper", "has_upper", kInfinity));
  const std::vector<double>& mass = record_values(record, "mass", 2);
  DensityRecord inner;
  for (const auto& [name, values] : record.values) {
    const size_t dot = name.find('.');
    if (dot == std::string::npos) continue;
    inner.kind = name.substr(0, dot);
    inner.values[name.substr(dot + 1)] = values;
  }
  if (inner.kind == "truncated") throw Error("the density 'truncated' holds another; its file is damaged");
  return std::make_unique<Truncated>(std::shared_ptr<const Density>(make_density(inner, dimension)), box,
                                     mass[0], mass[1]);
}

}  // namespace selfnorm
