#include "family/density/interval_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/failure.h"
#include "data/string_index.h"
#include "math/parallel.h"
#include "normalizer/quadrature/conditional_quadrature.h"
#include "normalizer/sampling/importance_log_z.h"
#include "proposal/density/precision_root.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMomentDraws = 8192;  // of the proposal
constexpr size_t kBins = 16;             // of a coordinate, of equal shares
constexpr uint64_t kMassDraws = 4096;    // of a row with several intervals
constexpr uint64_t kLeastWeighed = 64;   // the same where one of them is taken
constexpr double kPrecision = 1e-5;      // of log-masses by quadrature
constexpr size_t kScoresAtOnce = size_t{1} << 17, kRowsAtOnce = 1024;
constexpr double kGoldenRatio = 0.6180339887498949;
constexpr uint64_t kMomentStream = 0x1A7E, kMassStream = 0x1A7F, kStepStream = 0x1A80;

float narrowed(double x, const IntervalCell& cell) {
  return std::clamp(static_cast<float>(x), cell.low, cell.high);
}

// Student's T with two degrees of freedom, location m and scale s, in an interval. With t = (x - m) / s and
// r = sqrt(2 + t^2), in closed form:
//     density r^-3 / s,   P(T > t) = q(t) = 1 / (r (r + t)) = 1 - q(-t),   t(q) = (1 - 2 q) / sqrt(2 q (1 -
//     q)).
class HeavyPart {
 public:
  HeavyPart(double mean, double scale, const IntervalCell& cell) : mean_(mean), scale_(scale) {
    double low = (static_cast<double>(cell.low) - mean) / scale,
           high = (static_cast<double>(cell.high) - mean) / scale;
    if (low < -high) {  // most of it is below the mean: the mirror image
      scale_ = -scale;
      std::tie(low, high) = std::pair(-high, -low);
    }
    low_ = low;
    width_ = high - low;
    above_ = beyond(high);
    mass_ = is_narrow() ? width_ * slope(low / 2 + high / 2) : beyond(low) - above_;
  }
  double mass() const { return mass_; }
  double density(double x) const {  // not divided by the mass
    return (is_narrow() ? mass_ / width_ : slope((x - mean_) / scale_)) / std::abs(scale_);
  }
  double draw(RandomStream& random) const {
    if (is_narrow()) return mean_ + scale_ * (low_ + width_ * random.uniform());
    const double q = above_ + mass_ * (1 - random.uniform());
    return mean_ + scale_ * (1 - 2 * q) / std::sqrt(2 * q * (1 - q));
  }

 private:
  bool is_narrow() const { return width_ < 1e-4; }  // uniform
  static double slope(double t) { return 1 / ((2 + t * t) * std::sqrt(2 + t * t)); }
  static double beyond(double t) {
    if (std::isinf(t)) return t > 0 ? 0 : 1;
    const double r = std::sqrt(2 + t * t);
    return t > 0 ? 1 / (r * (r + t)) : (r - t) / (2 * r);
  }
  double mean_, scale_, low_, width_, above_, mass_;
};

// Of the content of a row: wherever it stands, it has the same draws.
uint64_t stream_of(const IntervalRow& row) {
  std::string known;
  for (const float v : row.x) known += fmt::format("{} ", v);
  for (const IntervalCell& cell : row.cells)
    known += fmt::format("{} {} {} ", cell.column, cell.low, cell.high);
  return hash_bytes(known);
}

}  // namespace

IntervalPart interval_part(const PointSource& data, std::span<const uint64_t> rows,
                           const Standardisation& standardisation, const Support& support) {
  IntervalPart out;
  if (!data.has_intervals()) return out;
  const uint32_t d = data.columns();
  const std::vector<double>&mean = standardisation.mean, &scale = standardisation.scale;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::span<const IntervalCell> cells = data.intervals(rows[i]);
    if (cells.empty()) continue;
    IntervalRow row{std::vector<float>(d), {cells.begin(), cells.end()}};
    data.read({&rows[i], 1}, row.x);
    if (!mean.empty()) standardisation.apply({row.x.data(), 1, d}, row.x);
    double log_scale = 0;
    for (IntervalCell& cell : row.cells) {
      const uint32_t j = cell.column;
      if (support.is_whole(j) || (!support.wraps.empty() && support.wraps[j]))
        throw_error(
            "row {} (from 0) has the interval {}..{} in column {}, which has {}; intervals are for columns "
            "of "
            "real numbers: give a value, or leave the row out",
            data.number(rows[i]), cell.low, cell.high,
            data.names().empty() ? std::to_string(j) : "'" + data.names()[j] + "'",
            support.is_whole(j) ? "whole numbers or words" : "angles");
      if (mean.empty()) continue;
      const auto moved = [&](float v) {
        return static_cast<float>((static_cast<double>(v) - mean[j]) / scale[j]);
      };
      cell.low = moved(cell.low);
      cell.high = moved(cell.high);
      if (!(cell.low < cell.high)) cell.high = std::nextafterf(cell.low, INFINITY);
      log_scale += std::log(scale[j]);
    }
    out.place.push_back(i);
    out.rows.push_back(std::move(row));
    out.log_scale.push_back(log_scale);
  }
  return out;
}

// The one censored coordinate of rows, as what a conditional quadrature integrates.
class IntervalSlices final : public ConditionalScores {
 public:
  IntervalSlices(const IntervalMeasure& measure, std::span<const IntervalRow> rows,
                 std::span<const size_t> chosen, const PointScores& score)
      : measure_(measure), rows_(rows), chosen_(chosen), score_(score) {}

  const IntervalRow& row(uint64_t i) const { return rows_[chosen_[i]]; }
  uint64_t rows() const override { return chosen_.size(); }
  uint32_t dimension() const override { return 1; }
  Support support() const override { return Support::reals(); }
  Support support_at(uint64_t i) const override {
    return Support::box({row(i).cells[0].low}, {row(i).cells[0].high});
  }
  void score(const Points& y, std::span<const uint32_t> at, std::span<double> s) const override {
    const size_t d = measure_.dimension_;
    std::vector<float> x;
    for (uint64_t begin = 0; begin < y.rows; begin += kScoresAtOnce) {
      const uint64_t n = std::min<uint64_t>(kScoresAtOnce, y.rows - begin);
      x.resize(n * d);
      for (uint64_t i = 0; i < n; ++i) {
        const IntervalRow& r = row(at[begin + i]);
        std::ranges::copy(r.x, x.begin() + static_cast<std::ptrdiff_t>(i * d));
        x[i * d + r.cells[0].column] = y.data[begin + i];
      }
      score_({x.data(), n, measure_.dimension_}, s.subspan(begin, n));
    }
  }
  double normalizer(uint64_t) const override { return 0; }
  std::vector<Place> places(uint64_t i) const override {
    std::vector<Place> out;
    for (const auto& bin : measure_.bins_[row(i).cells[0].column])
      out.push_back({0.5 / static_cast<double>(kBins), {bin.mean}, {bin.scale}});
    const auto own = measure_.conditional(row(i));
    out.push_back({0.5, {own.mean}, {own.scale}});
    return out;
  }

 private:
  const IntervalMeasure& measure_;
  std::span<const IntervalRow> rows_;
  std::span<const size_t> chosen_;
  const PointScores& score_;
};

IntervalMeasure::IntervalMeasure(const Density& proposal, const Support& support, uint64_t seed)
    : support_(support), seed_(seed), dimension_(proposal.dimension()) {
  const size_t d = dimension_;
  std::vector<float> draws(kMomentDraws * d);
  sample_density(proposal, RandomStream(seed, kMomentStream).next(), draws, {});
  const Points points{draws.data(), kMomentDraws, dimension_};
  const ColumnMoments columns = column_moments(points);
  const PrecisionRoot root = fitted_root(points, columns);
  moments_.mean = columns.mean;
  moments_.precision.resize(d * d);
  for (uint32_t i = 0; i < d; ++i)
    for (uint32_t j = 0; j < d; ++j)
      for (uint32_t k = 0; k < d; ++k) moments_.precision[i * d + j] += root.at(k, i) * root.at(k, j);
  std::vector<double> column(kMomentDraws);
  for (size_t j = 0; j < d; ++j) {
    for (uint64_t i = 0; i < kMomentDraws; ++i) column[i] = draws[i * d + j];
    std::ranges::sort(column);
    auto& bins = bins_.emplace_back();
    constexpr size_t kEach = kMomentDraws / kBins;
    for (size_t b = 0; b < kBins; ++b) {
      const std::span<const double> part = std::span(column).subspan(b * kEach, kEach);
      const double mean = std::accumulate(part.begin(), part.end(), 0.0) / kEach;
      double square = 0;
      for (const double v : part) square += (v - mean) * (v - mean);
      bins.push_back({mean, std::sqrt(square / kEach) + 1e-3 * columns.scale[j]});
    }
  }
}

// The intervals inside the support.
IntervalRow IntervalMeasure::inside(const IntervalRow& row) const {
  IntervalRow out = row;
  for (IntervalCell& cell : out.cells) {
    if (!support_.lower.empty()) {
      cell.low = std::max(cell.low, static_cast<float>(support_.lower[cell.column]));
      cell.high = std::min(cell.high, static_cast<float>(support_.upper[cell.column]));
    }
    if (cell.low < cell.high) out.x[cell.column] = narrowed(row.x[cell.column], cell);
  }
  return out;
}

bool IntervalMeasure::is_possible(const IntervalRow& row) const {
  return contains(support_, row.x) &&
         std::ranges::all_of(row.cells, [](const IntervalCell& c) { return c.low < c.high; });
}

IntervalMeasure::Bin IntervalMeasure::conditional(const IntervalRow& row) const {
  const size_t d = dimension_, j = row.cells[0].column;
  const double own = moments_.precision[j * d + j];
  double sum = 0;
  for (size_t k = 0; k < d; ++k)
    if (k != j) sum += moments_.precision[j * d + k] * (static_cast<double>(row.x[k]) - moments_.mean[k]);
  return {moments_.mean[j] - sum / own, 1 / std::sqrt(own)};
}

// take(row, draws, log weights) of rows with several intervals. With P the precision given the rest and
// P = K K', the conditional covariance is W'W, W = K^-1: the last coordinate depends on the last normal
// number alone, the one before it on two, and so on. Every other draw is of the bins.
template <class Take>
void IntervalMeasure::weigh(std::span<const IntervalRow> rows, std::span<const size_t> chosen, uint64_t pool,
                            Streams streams, const PointScores& score, const Take& take) const {
  const size_t d = dimension_, at_once = std::max<size_t>(1, kScoresAtOnce / pool);
  std::vector<float> x;
  std::vector<double> s;
  for (size_t begin = 0; begin < chosen.size(); begin += at_once) {
    const size_t n = std::min(at_once, chosen.size() - begin);
    x.resize(n * pool * d);
    std::vector<double> log_r(n * pool);
    s.resize(n * pool);
    parallel_units(n, [&](size_t i) {
      const IntervalRow& row = rows[chosen[begin + i]];
      const auto m = static_cast<uint32_t>(row.cells.size());
      std::vector<double> precision(size_t{m} * m), pull(m), mean(m), z(m);
      std::vector<bool> is_censored(d);
      for (const IntervalCell& cell : row.cells) is_censored[cell.column] = true;
      for (size_t a = 0; a < m; ++a) {
        const size_t j = row.cells[a].column;
        for (size_t b = 0; b < m; ++b) precision[a * m + b] = moments_.precision[j * d + row.cells[b].column];
        for (size_t k = 0; k < d; ++k)
          if (!is_censored[k])
            pull[a] -= moments_.precision[j * d + k] * (static_cast<double>(row.x[k]) - moments_.mean[k]);
      }
      const PrecisionRoot root = PrecisionRoot::of_covariance(m, precision);
      root.whiten(pull);
      root.pull_back(pull);
      for (size_t a = 0; a < m; ++a) mean[a] = moments_.mean[row.cells[a].column] + pull[a];
      std::vector<std::vector<HeavyPart>> bins(m);
      std::vector<double> bins_mass(m);
      for (uint32_t a = 0; a < m; ++a)
        for (const Bin& bin : bins_[row.cells[a].column])
          bins_mass[a] += bins[a].emplace_back(bin.mean, bin.scale, row.cells[a]).mass();
      const auto of_bins = [&](uint32_t a, RandomStream& random) {
        double rest = random.uniform() * bins_mass[a];
        size_t b = 0;
        while (b + 1 < bins[a].size() && (rest -= bins[a][b].mass()) > 0) ++b;
        return bins[a][b].draw(random);
      };
      RandomStream random(
          RandomStream(seed_, kMassStream).next(),
          streams == Streams::of_content ? stream_of(row) : static_cast<uint64_t>(chosen[begin + i]));
      for (uint64_t draw = 0; draw < pool; ++draw) {
        float* out = x.data() + (i * pool + draw) * d;
        std::ranges::copy(row.x, out);
        double log_in_turn = 0, log_bins = 0;
        for (uint32_t a = m; a-- > 0;) {
          double centre = mean[a];
          for (uint32_t b = a + 1; b < m; ++b) centre += root.at(b, a) * z[b];
          const IntervalCell& cell = row.cells[a];
          const double scale = root.at(a, a);
          const HeavyPart part(centre, scale, cell);
          const float value = narrowed(draw % 2 == 0 ? part.draw(random) : of_bins(a, random), cell);
          out[cell.column] = value;
          const auto y = static_cast<double>(value);
          z[a] = (y - centre) / scale;
          log_in_turn += std::log(part.density(y) / part.mass());
          double sum = 0;
          for (const HeavyPart& bin : bins[a]) sum += bin.density(y);
          log_bins += std::log(sum / bins_mass[a]);
        }
        LogSumExp both;
        both.add(log_in_turn);
        both.add(log_bins);
        log_r[i * pool + draw] = both.value() - std::log(2.0);
      }
    });
    score({x.data(), n * pool, dimension_}, s);
    for (size_t i = 0; i < s.size(); ++i) s[i] -= log_r[i];
    for (size_t i = 0; i < n; ++i)
      take(chosen[begin + i], std::span<const float>(x).subspan(i * pool * d, pool * d),
           std::span<const double>(s).subspan(i * pool, pool));
  }
}

// nodes(row, nodes of its one coordinate) or drawn(row, draws, log weights) of every row that is possible.
template <class TakeNodes, class TakeDraws>
void IntervalMeasure::each(std::span<const IntervalRow> given, uint64_t pool, Streams streams,
                           const PointScores& score, const TakeNodes& nodes, const TakeDraws& drawn) const {
  std::vector<IntervalRow> rows;
  std::vector<size_t> one, several;
  for (size_t i = 0; i < given.size(); ++i) {
    rows.push_back(inside(given[i]));
    if (is_possible(rows[i])) (rows[i].cells.size() == 1 ? one : several).push_back(i);
  }
  for (size_t begin = 0; begin < one.size(); begin += kRowsAtOnce) {
    const std::span<const size_t> part =
        std::span(one).subspan(begin, std::min(kRowsAtOnce, one.size() - begin));
    const auto found =
        conditional_quadrature(IntervalSlices(*this, rows, part, score), {.precision = kPrecision});
    for (size_t i = 0; i < part.size(); ++i) nodes(part[i], found[i]);
  }
  weigh(rows, several, pool, streams, score, drawn);
}

std::vector<IntervalMass> IntervalMeasure::masses(std::span<const IntervalRow> rows,
                                                  const PointScores& score) const {
  std::vector<IntervalMass> out(rows.size(), {-kInfinity});
  each(
      rows, kMassDraws, Streams::of_content, score,
      [&](size_t i, const PredictiveNodes& n) {
        out[i] = {n.log_normalizer, n.error};
      },
      [&](size_t i, std::span<const float>, std::span<const double> log_weight) {
        WeightSum sum;
        ParetoTail tail(log_weight.size());
        for (const double w : log_weight) {
          sum.add(w);
          tail.add(w);
        }
        if (sum.effective() > 0) out[i] = {sum.log_mean(), sum.reach(), tail.shape() > kHeaviestTail};
      });
  return out;
}

IntervalDraws IntervalMeasure::draws(std::span<const IntervalRow> rows, uint64_t count,
                                     const PointScores& score) const {
  const size_t d = dimension_;
  IntervalDraws out{std::vector<float>(rows.size() * count * d),
                    std::vector<double>(rows.size(), -kInfinity)};
  for (size_t i = 0; i < rows.size(); ++i)
    for (uint64_t m = 0; m < count; ++m)
      std::ranges::copy(rows[i].x, out.rows.begin() + static_cast<std::ptrdiff_t>((i * count + m) * d));
  // share(m) of the way through the distribution function.
  const auto share = [&](size_t i, uint64_t m) {
    const double start = 0.5 + kGoldenRatio * static_cast<double>(i);
    return (static_cast<double>(m) + start - std::floor(start)) / static_cast<double>(count);
  };
  const auto take_nodes = [&](size_t i, const PredictiveNodes& n) {
    out.log_mass[i] = n.log_normalizer;
    // The mass of a node is spread over the part of its cell that its weight stands for.
    const IntervalCell& cell = rows[i].cells[0];
    const std::vector<double>& weight = cell_rule(1).weight;
    std::vector<double> mass;
    for (size_t k = 0; k < n.log_weight.size(); ++k)
      mass.push_back(std::exp(n.log_weight[k] + n.log_density[k]));
    const double total = std::accumulate(mass.begin(), mass.end(), 0.0);
    double below = 0, from = n.edge[0];
    size_t k = 0;
    const auto width = [&](size_t node) {
      const size_t c = node / n.nodes_per_cell;
      return (n.edge[c + 1] - n.edge[c]) * weight[node % n.nodes_per_cell];
    };
    for (uint64_t m = 0; m < count; ++m) {
      const double wanted = share(i, m) * total;
      while (k + 1 < mass.size() && below + mass[k] < wanted) {
        below += mass[k];
        from += width(k);
        ++k;
        if (k % n.nodes_per_cell == 0) from = n.edge[k / n.nodes_per_cell];
      }
      const double part = mass[k] > 0 ? std::clamp((wanted - below) / mass[k], 0.0, 1.0) : 0.5;
      out.rows[(i * count + m) * d + cell.column] = narrowed(from + part * width(k), cell);
    }
  };
  const auto take_draws = [&](size_t i, std::span<const float> x, std::span<const double> log_weight) {
    LogSumExp sum;
    for (const double w : log_weight) sum.add(w);
    const double total = sum.value();
    if (std::isinf(total)) return;
    out.log_mass[i] = total - std::log(static_cast<double>(log_weight.size()));
    double below = std::exp(log_weight[0] - total);
    size_t k = 0;
    for (uint64_t m = 0; m < count; ++m) {
      while (k + 1 < log_weight.size() && below < share(i, m)) below += std::exp(log_weight[++k] - total);
      std::ranges::copy(x.subspan(k * d, d),
                        out.rows.begin() + static_cast<std::ptrdiff_t>((i * count + m) * d));
    }
  };
  each(rows, std::clamp(32 * count, kLeastWeighed, kMassDraws), Streams::of_place, score, take_nodes,
       take_draws);
  return out;
}

void complete_rows(const IntervalPart& part, const Density& q, uint64_t seed, std::span<float> points) {
  if (part.empty()) return;
  const IntervalMeasure measure(q, q.support(), seed);
  const IntervalDraws drawn =
      measure.draws(part.rows, 1, [&q](const Points& x, std::span<double> s) { density_log_prob(q, x, s); });
  const size_t d = q.dimension();
  for (size_t i = 0; i < part.rows.size(); ++i)
    std::copy_n(drawn.rows.begin() + static_cast<std::ptrdiff_t>(i * d), d,
                points.begin() + static_cast<std::ptrdiff_t>(part.place[i] * d));
}

IntervalStore::IntervalStore(const IntervalPart& part, std::span<const uint64_t> rows, const Density& q,
                             uint64_t seed, bool has_log_q)
    : seed_(seed), dimension_(q.dimension()) {
  if (part.empty()) return;
  const IntervalMeasure measure(q, q.support(), seed);
  IntervalDraws drawn = measure.draws(
      part.rows, kDraws, [&q](const Points& x, std::span<double> s) { density_log_prob(q, x, s); });
  draws_ = std::move(drawn.rows);
  for (size_t i = 0; i < part.rows.size(); ++i) {
    if (std::isinf(drawn.log_mass[i])) {
      lost_.insert(rows[part.place[i]]);
      continue;
    }
    slot_[rows[part.place[i]]] = i;
    log_masses_ += drawn.log_mass[i] + part.log_scale[i];
  }
  if (!has_log_q) return;
  log_q_.resize(part.rows.size() * kDraws);
  density_log_prob(q, {draws_.data(), log_q_.size(), dimension_}, log_q_);
}

void IntervalStore::complete(std::span<const uint64_t> rows, uint64_t step, const PointScores& score,
                             std::span<float> points) const {
  if (empty()) return;
  const size_t d = dimension_;
  std::vector<float> x;
  std::vector<size_t> place, slot;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto found = slot_.find(rows[i]);
    if (found == slot_.end()) continue;
    place.push_back(i);
    slot.push_back(found->second);
    const auto draws = std::span(draws_).subspan(found->second * kDraws * d, kDraws * d);
    x.insert(x.end(), draws.begin(), draws.end());
  }
  if (place.empty()) return;
  std::vector<double> s(place.size() * kDraws);
  score({x.data(), s.size(), dimension_}, s);
  RandomStream random(RandomStream(seed_, kStepStream).next(), step);
  for (size_t i = 0; i < place.size(); ++i) {
    const std::span<double> own = std::span(s).subspan(i * kDraws, kDraws);
    LogSumExp total;
    for (size_t m = 0; m < kDraws; ++m)
      total.add(own[m] -= log_q_.empty() ? 0 : log_q_[slot[i] * kDraws + m]);
    double rest = random.uniform();
    size_t m = 0;
    while (m + 1 < kDraws && (rest -= std::exp(own[m] - total.value())) > 0) ++m;
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>((i * kDraws + m) * d), d,
                points.begin() + static_cast<std::ptrdiff_t>(place[i] * d));
  }
}

double IntervalStore::log_ratios(const PointScores& score) const {
  if (empty()) return 0;
  std::vector<double> s(draws_.size() / dimension_);
  score({draws_.data(), s.size(), dimension_}, s);
  double sum = 0;
  for (const auto& [row, slot] : slot_) {
    LogSumExp total;
    for (size_t m = slot * kDraws; m < (slot + 1) * kDraws; ++m)
      total.add(s[m] - (log_q_.empty() ? 0 : log_q_[m]));
    sum += total.value() - std::log(static_cast<double>(kDraws));
  }
  return sum;
}

double IntervalStore::log_masses() const { return log_masses_; }

}  // namespace selfnorm
