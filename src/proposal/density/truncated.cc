#include "proposal/density/truncated.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "proposal/density/make_density.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
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
