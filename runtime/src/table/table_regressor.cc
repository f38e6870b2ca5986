#include "table_regressor.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm::runtime {
namespace {

constexpr uint32_t kMostOf = 4096;  // components; members
constexpr int kBroadReach = 12;     // panels to either side
constexpr double kBend = 0.5;       // of the tilt, in standardised units
constexpr double kFarthest = 1e12;  // in standard deviations: no density beyond
constexpr std::array<double, TableRegressor::kEnds> kPlaces = {-12, -6, -3, -1, 0, 1, 3, 6, 12};

double softplus(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))); }

// P_n(x) and P_{n-1}(x)
std::array<double, 2> legendre(size_t n, double x) {
  double now = 1, before = 0;
  for (size_t k = 1; k <= n; ++k) {
    const double next =
        ((2.0 * static_cast<double>(k) - 1) * x * now - (static_cast<double>(k) - 1) * before) /
        static_cast<double>(k);
    before = now;
    now = next;
  }
  return {now, before};
}

// log P(a < z < b) of a standard normal z; a < b.
double log_normal_mass(double a, double b) {
  if (a > 0) return log_normal_mass(-b, -a);
  const auto below = [](double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); };
  const double mass = b > 0 ? 1 - below(a) - below(-b) : below(b) - below(a);
  if (mass > 1e-300) return std::log(mass);
  return -0.5 * b * b - std::log(-b) - kHalfLogTau;  // far out: an exponential from the nearer end
}

}  // namespace

WorkMemory::WorkMemory(void* memory, size_t bytes) {
  next_ = static_cast<double*>(std::align(alignof(double), sizeof(double), memory, bytes));
  left_ = next_ == nullptr ? 0 : bytes / sizeof(double);
}

double* WorkMemory::take(size_t doubles) {
  if (doubles > left_) return nullptr;
  left_ -= doubles;
  next_ += doubles;
  return next_ - doubles;
}

TableRegressor::TableRegressor(const LayoutReader& reader, const std::vector<uint32_t>& levels,
                               uint32_t numbers) {
  const auto metadata = [&reader](const char* key) { return std::string(reader.metadata(key)); };
  if (metadata("dimension") != "1" || reader.file.metadata.contains("target_kind"))
    reader.fail(
        "the C runtime has regressors of one target that is a number; use the program or the library");
  components_ = reader.number<uint32_t>("components");
  const auto count = reader.number<uint32_t>("ensemble");
  if (components_ < 1 || components_ > kMostOf || count < 1 || count > kMostOf)
    reader.fail("found " + std::to_string(components_) + " components and " + std::to_string(count) +
                " members, expected 1 to 4096");
  least_scale_ = reader.number<double>("least_scale");
  broad_mean_ = reader.number<double>("broad_mean");
  broad_scale_ = reader.number<double>("broad_scale");
  base_weight_ = metadata("base") == "proposal" ? reader.number<double>("tail_weight") : 1;
  target_mean_ = reader.tensor<double>("target.mean", Dtype::F64, {1})[0];
  target_scale_ = reader.tensor<double>("target.scale", Dtype::F64, {1})[0];
  lower_ = -kInfinity;
  upper_ = kInfinity;
  if (reader.file.find("support.lower") != nullptr) {
    lower_ = reader.tensor<double>("support.lower", Dtype::F64, {1})[0];
    upper_ = reader.tensor<double>("support.upper", Dtype::F64, {1})[0];
  }
  if (!(least_scale_ > 0 && broad_scale_ > 0 && target_scale_ > 0 && lower_ < upper_ && base_weight_ >= 0 &&
        base_weight_ <= 1) ||
      !std::isfinite(broad_mean_ + broad_scale_ + target_mean_ + target_scale_ + least_scale_))
    reader.fail("the scales of the regressor are damaged");
  broad_log_mass_ = log_cut(broad_mean_, broad_scale_);
  for (uint32_t m = 0; m < count; ++m) {
    const std::string name = "member" + std::to_string(m) + ".";
    const auto network = [&](const char* part) {
      return reader.file.metadata.contains(name + part) ? TableNetwork(reader, name + part) : TableNetwork();
    };
    Member& member = members_.emplace_back();
    member.features = TableNetwork(reader, name + "features");
    member.mixture_head = TableNetwork(reader, name + "mixture_head");
    member.tilt_features = network("tilt_features");
    member.context = network("context");
    member.tilt = network("tilt");
    member.normalizer = network("normalizer");
    if (reader.file.metadata.contains(name + "temperature"))
      member.temperature = reader.number<double>(name + "temperature");
    const TableNetwork& own = member.tilt_features.exists() ? member.tilt_features : member.features;
    const bool fits = member.features.inputs() == numbers && member.features.levels() == levels &&
                      own.inputs() == numbers && own.levels() == levels &&
                      member.mixture_head.inputs() == member.features.width() &&
                      member.mixture_head.width() == 3 * components_ &&
                      member.tilt.exists() == member.context.exists() &&
                      (!member.tilt.exists() || (member.tilt.inputs() == 1 && member.tilt.has_score() &&
                                                 member.context.inputs() == own.width() &&
                                                 member.context.width() == member.tilt.first_width())) &&
                      (!member.normalizer.exists() ||
                       (member.normalizer.inputs() == own.width() && member.normalizer.width() == 1)) &&
                      member.temperature > 0 && std::isfinite(member.temperature);
    if (!fits) reader.fail("the networks of member " + std::to_string(m) + " do not fit each other");
    for (const TableNetwork* one : {&member.features, &member.tilt_features, &member.mixture_head,
                                    &member.context, &member.tilt, &member.normalizer}) {
      scratch_ = std::max(scratch_, one->scratch());
      widest_ = std::max<size_t>({widest_, one->width(), one->first_width()});
    }
  }
  for (size_t i = 0; i < kNodes; ++i) {  // Newton's method for the roots of P_n
    const double n = static_cast<double>(kNodes);
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n + 0.5)), slope = 1;
    for (int step = 0; step < 100; ++step) {
      const auto [p, before] = legendre(kNodes, x);
      slope = n * (x * p - before) / (x * x - 1);
      x -= p / slope;
    }
    node_[i] = x;
    weight_[i] = 2 / ((1 - x * x) * slope * slope);
  }
}

double TableRegressor::log_cut(double mean, double scale) const {
  if (std::isinf(lower_) && std::isinf(upper_)) return 0;
  return log_normal_mass((lower_ - mean) / scale, (upper_ - mean) / scale);
}

size_t TableRegressor::workspace() const {
  const size_t ends = members_.size() * components_ * kEnds + 2 * (2 * size_t{kBroadReach} + 1) + 2;
  const size_t of_states =
      members_.size() * ((sizeof(State) + 7) / sizeof(double) + size_t{4} * components_ + widest_);
  return of_states + scratch_ + 3 * widest_ + ends + ends * kNodes * 2 + 2 * members_.size() + 16;
}

// Returns the scratch memory of networks.
double* TableRegressor::prepare(const Input& x, WorkMemory& memory, State* states) const {
  double* scratch = memory.take(scratch_);
  double *h = memory.take(widest_), *own = memory.take(widest_), *parameters = memory.take(widest_);
  for (size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    State& state = states[m];
    member.features.run(x.number, x.level, nullptr, scratch, h);
    member.mixture_head.run(h, nullptr, nullptr, scratch, parameters);
    const size_t n = components_;
    double* each = memory.take(4 * n);
    state = {each, each + n, each + 2 * n, each + 3 * n, memory.take(widest_), 0};
    LogSumExp total;
    for (uint32_t k = 0; k < components_; ++k) total.add(parameters[k]);
    for (uint32_t k = 0; k < components_; ++k) {
      state.log_weight[k] = parameters[k] - total.value();
      state.mean[k] = parameters[components_ + k];
      state.scale[k] =
          std::sqrt(member.temperature) * (least_scale_ + softplus(parameters[2 * components_ + k]));
      state.log_mass[k] = log_cut(state.mean[k], state.scale[k]);
    }
    if (!member.tilt.exists()) continue;
    const double* of_tilt = h;
    if (member.tilt_features.exists()) {
      member.tilt_features.run(x.number, x.level, nullptr, scratch, own);
      of_tilt = own;
    }
    member.context.run(of_tilt, nullptr, nullptr, scratch, state.context);
    if (member.normalizer.exists()) member.normalizer.run(of_tilt, nullptr, nullptr, scratch, &state.b);
  }
  return scratch;
}

double TableRegressor::score(size_t m, const State& state, double u, double* scratch) const {
  const auto log_normal = [u](double mean, double scale, double log_mass) {
    const double z = (u - mean) / scale;
    return -0.5 * z * z - std::log(scale) - kHalfLogTau - log_mass;
  };
  LogSumExp total;
  if (base_weight_ < 1)
    for (uint32_t k = 0; k < components_; ++k)
      total.add(std::log1p(-base_weight_) + state.log_weight[k] +
                log_normal(state.mean[k], state.scale[k], state.log_mass[k]));
  if (base_weight_ > 0)
    total.add(std::log(base_weight_) + log_normal(broad_mean_, broad_scale_, broad_log_mass_));
  const Member& member = members_[m];
  if (!member.tilt.exists()) return total.value();
  return total.value() + member.tilt.score(&u, state.context, scratch) / member.temperature;
}

TableRegressor::Panels TableRegressor::panels(const State* states, double* scratch,
                                              WorkMemory& memory) const {
  const size_t most = members_.size() * components_ * kEnds + 2 * (2 * size_t{kBroadReach} + 1) + 2;
  Panels out{memory.take(most), nullptr, nullptr, 0};
  size_t ends = 0;
  // A normal cut at a bound a distance D from its mean is nearly exponential there, of width scale^2 / D.
  const auto add = [&](double mean, double scale) {
    const double bound = std::clamp(mean, lower_, upper_), distance = std::abs(mean - bound);
    if (distance > 0) scale = std::min(scale, 3 * scale * (scale / distance));
    mean = bound;
    for (const double place : kPlaces) out.end[ends++] = std::clamp(mean + place * scale, lower_, upper_);
  };
  for (size_t m = 0; m < members_.size(); ++m)
    for (uint32_t k = 0; k < components_; ++k) add(states[m].mean[k], states[m].scale[k]);
  // Ends of their own where the tilt bends, among standardised u, and where a steep one may move mass to.
  for (int place = -kBroadReach; place <= kBroadReach; ++place)
    for (const double step : {kBend, broad_scale_})
      out.end[ends++] = std::clamp(broad_mean_ + place * step, lower_, upper_);
  if (std::isfinite(lower_)) out.end[ends++] = lower_;
  if (std::isfinite(upper_)) out.end[ends++] = upper_;
  std::sort(out.end, out.end + ends);
  const double least = 1e-3 * least_scale_;
  ends = static_cast<size_t>(
      std::unique(out.end, out.end + ends, [least](double a, double b) { return b - a <= least; }) - out.end);
  out.count = ends - 1;
  const size_t nodes = out.count * kNodes;
  out.density = memory.take(nodes);
  out.log_normalizer = memory.take(members_.size());
  double* s = memory.take(nodes);
  std::fill_n(out.density, nodes, 0.0);
  for (size_t m = 0; m < members_.size(); ++m) {
    LogSumExp total;
    for (size_t p = 0; p < out.count; ++p) {
      const double half = 0.5 * (out.end[p + 1] - out.end[p]), middle = out.end[p] + half;
      for (size_t i = 0; i < kNodes; ++i) {
        s[p * kNodes + i] = score(m, states[m], middle + half * node_[i], scratch);
        total.merge({s[p * kNodes + i], half * weight_[i]});
      }
    }
    out.log_normalizer[m] = members_[m].tilt.exists() ? total.value() : 0;
    for (size_t i = 0; i < nodes; ++i)
      out.density[i] += std::exp(s[i] - total.value()) / static_cast<double>(members_.size());
  }
  return out;
}

double TableRegressor::log_density(const Input& x, double y, bool is_exact, WorkMemory& memory) const {
  auto* states = reinterpret_cast<State*>(
      memory.take(members_.size() * ((sizeof(State) + sizeof(double) - 1) / sizeof(double))));
  double* scratch = prepare(x, memory, states);
  const double place = (y - target_mean_) / target_scale_;
  const double slack = 1e-15 * std::max(std::abs(y), std::abs(target_mean_)) / target_scale_;
  if (!(place >= lower_ - slack && place <= upper_ + slack && std::abs(place) <= kFarthest))
    return -kInfinity;
  const double u = std::clamp(place, lower_, upper_);
  const Panels all = is_exact ? panels(states, scratch, memory) : Panels{};
  LogSumExp total;
  for (size_t m = 0; m < members_.size(); ++m)
    total.add(score(m, states[m], u, scratch) - (is_exact ? all.log_normalizer[m] : states[m].b));
  return total.value() - std::log(static_cast<double>(members_.size())) - std::log(target_scale_);
}

void TableRegressor::predict(const Input& x, std::span<const double> levels, WorkMemory& memory,
                             selfnorm_prediction& out, double* quantiles) const {
  auto* states = reinterpret_cast<State*>(
      memory.take(members_.size() * ((sizeof(State) + sizeof(double) - 1) / sizeof(double))));
  double* scratch = prepare(x, memory, states);
  const Panels all = panels(states, scratch, memory);
  double first = 0, second = 0;
  for (size_t p = 0; p < all.count; ++p)
    for (size_t i = 0; i < kNodes; ++i) {
      const double half = 0.5 * (all.end[p + 1] - all.end[p]), u = all.end[p] + half * (1 + node_[i]);
      const double mass = half * weight_[i] * all.density[p * kNodes + i];
      first += mass * u;
      second += mass * u * u;
    }
  out.mean = target_mean_ + target_scale_ * first;
  out.deviation = target_scale_ * std::sqrt(std::max(0.0, second - first * first));
  for (size_t q = 0; q < levels.size(); ++q) {
    double below = 0;
    size_t p = 0;
    const auto mass_of = [&](size_t panel) {
      double mass = 0;
      for (size_t i = 0; i < kNodes; ++i) mass += weight_[i] * all.density[panel * kNodes + i];
      return 0.5 * (all.end[panel + 1] - all.end[panel]) * mass;
    };
    double mass = mass_of(0);
    while (p + 1 < all.count && below + mass < levels[q]) {
      below += mass;
      mass = mass_of(++p);
    }
    // The polynomial through the nodes, in Legendre's: its integral from -1 to t, bisected.
    std::array<double, kNodes> c{};
    for (size_t l = 0; l < kNodes; ++l)
      for (size_t i = 0; i < kNodes; ++i)
        c[l] += 0.5 * (2 * static_cast<double>(l) + 1) * weight_[i] * legendre(l, node_[i])[0] *
                all.density[p * kNodes + i];
    const double half = 0.5 * (all.end[p + 1] - all.end[p]);
    const auto integral = [&](double t) {
      double sum = c[0] * (t + 1);
      for (size_t l = 1; l < kNodes; ++l)
        sum += c[l] * (legendre(l + 1, t)[0] - legendre(l - 1, t)[0]) / (2 * static_cast<double>(l) + 1);
      return half * sum;
    };
    double from = -1, to = 1;
    for (int step = 0; step < 60; ++step) {
      const double t = 0.5 * (from + to);
      (below + integral(t) < levels[q] ? from : to) = t;
    }
    quantiles[q] = target_mean_ + target_scale_ * (all.end[p] + half * (1 + to));
  }
}

}  // namespace selfnorm::runtime
