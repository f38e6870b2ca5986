#include "family/density/density_evaluation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/failure.h"
#include "math/random.h"
#include "model/energy/autoregressive_energy.h"
#include "model/energy/make_energy.h"
#include "model/energy/tilted.h"
#include "normalizer/quadrature/line_sum.h"
#include "proposal/density/composed.h"
#include "proposal/density/make_density.h"
#include "proposal/density/product_mixture.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr uint64_t kRows = 8192;          // of a block
constexpr double kFarthestNumber = 1e12;  // standardised; energies of what is beyond it may be none

// Of a row without a score: its values, where they are beyond what networks in single precision can see.
[[noreturn]] void fail_without_score(const DensityModel& model, std::span<const float> x,
                                     std::span<const float> u, uint64_t row, double score) {
  for (size_t i = 0; i < u.size(); ++i) {
    if (std::abs(static_cast<double>(u[i])) <= kFarthestNumber) continue;
    throw_error(
        "row {} (from 0): the value {} of column {} is too far from the training data to have a likelihood "
        "(more than {:g} {}); correct it, or leave the row out",
        row, x[i], i < model.feature_names.size() ? "'" + model.feature_names[i] + "'" : std::to_string(i),
        kFarthestNumber, model.standardisation.mean.empty() ? "in size" : "standard deviations");
  }
  throw_error(
      "row {} (from 0) has the score {}; expected a finite number: the model is damaged, or its training "
      "diverged",
      row, score);
}

// s(u) of rows in the units of the data; -inf outside the support.
void raw_scores(const DensityModel& model, const Points& x, uint64_t first_row, std::span<double> s) {
  std::vector<float> u(x.data, x.data + x.size());
  if (!model.standardisation.mean.empty()) model.standardisation.apply(x, u);
  const Points standardised{u.data(), x.rows, x.columns};
  model.energy->score(standardised, s);
  const Support support = model.energy->support();
  for (uint64_t i = 0; i < x.rows; ++i) {
    if (!contains(support, standardised.row(i))) s[i] = -kInfinity;
    if (!(s[i] < kInfinity)) fail_without_score(model, x.row(i), standardised.row(i), first_row + i, s[i]);
  }
}

const AutoregressiveEnergy* lines_of(const DensityModel& model) {
  return dynamic_cast<const AutoregressiveEnergy*>(model.energy.get());
}

// What the scores of rows in the units of the data lack of log p where every row has integrals of its own.
LineSum line_sum_of(const AutoregressiveEnergy& lines, const DensityModel& model, const Points& x,
                    double precision) {
  std::vector<float> u(x.data, x.data + x.size());
  if (!model.standardisation.mean.empty()) model.standardisation.apply(x, u);
  return line_sum(lines, {u.data(), x.rows, x.columns}, precision);
}

// s <- s - R(x), with which log Z is 0; nothing for other energies. The largest error of R.
double subtract_lines(const DensityModel& model, const Points& x, double precision, std::span<double> s) {
  const AutoregressiveEnergy* lines = lines_of(model);
  if (lines == nullptr) return 0;
  const LineSum sum = line_sum_of(*lines, model, x, precision);
  for (size_t i = 0; i < s.size(); ++i) s[i] -= sum.value[i];
  return sum.error.empty() ? 0 : std::ranges::max(sum.error);
}

double log_volume(const DensityModel& model) {
  return model.standardisation.scale.empty() ? 0 : model.standardisation.log_volume();
}

void check_columns(const DensityModel& model, uint32_t columns) {
  if (columns == model.dimension()) return;
  throw_error("the data have {} columns and the model {}; expected the same", columns, model.dimension());
}

std::string outside_advice(const Support& support) {
  switch (support.space) {
    case Support::Space::levels:
    case Support::Space::mixed:
      return "they have values that no row of the training data had; leave them out, or train on rows with "
             "all values";
    case Support::Space::counts:
      return with_options("counts are whole numbers from 0; leave them out, or train with `space real`");
    case Support::Space::real:
      break;
  }
  return "leave them out, or train an energy and a proposal over all numbers (mlp and mixture)";
}

// Mean and standard error of the scores inside the support (Welford).
struct ScoreSum {
  uint64_t inside = 0, outside = 0, first_outside = 0;
  double mean = 0, square = 0, mean_log_prob = 0;
  uint64_t intervals = 0, doubtful_intervals = 0;
  double interval_error = 0;                               // the sum
  double line_error = 0, line_square = 0, line_bound = 0;  // sums, of R(x) where rows have integrals

  void add(uint64_t row, double s, double log_prob) {
    if (std::isinf(s)) {
      if (outside++ == 0) first_outside = row;
      return;
    }
    const double change = s - mean;
    mean += change / static_cast<double>(++inside);
    square += change * (s - mean);
    mean_log_prob += (log_prob - mean_log_prob) / static_cast<double>(inside);
  }
  double error() const {
    const auto n = static_cast<double>(inside);
    return inside < 2 ? 0 : std::sqrt(square / (n - 1) / n);
  }
};

std::optional<IntervalMeasure> interval_measure(const DensityModel& model, const PointSource& data) {
  if (!data.has_intervals()) return std::nullopt;
  if (lines_of(model) != nullptr)
    throw Error("an autoregressive energy has no masses of intervals; leave rows with them out");
  return std::optional<IntervalMeasure>(std::in_place, *model.proposal, model.energy->support(), 0);
}

// Of a row with intervals.
struct FoundMass {
  size_t place;  // among the rows
  IntervalMass mass;
  bool is_probability;  // every column is censored
};

// s(u) of rows of the data, or the log of its integral over what is known, with what is in the place of the
// unit of a censored column.
std::vector<FoundMass> source_scores(const DensityModel& model, const PointSource& data,
                                     std::span<const uint64_t> rows,
                                     const std::optional<IntervalMeasure>& measure, std::span<double> s) {
  std::vector<float> x(rows.size() * data.columns());
  data.read(rows, x);
  raw_scores(model, {x.data(), rows.size(), data.columns()}, rows.empty() ? 0 : rows[0], s);
  std::vector<FoundMass> out;
  if (!measure) return out;
  const IntervalPart part = interval_part(data, rows, model.standardisation, model.energy->support());
  const auto found = measure->masses(
      part.rows, [&model](const Points& u, std::span<double> score) { model.energy->score(u, score); });
  for (size_t i = 0; i < found.size(); ++i) {
    s[part.place[i]] = found[i].log_mass + part.log_scale[i];
    out.push_back({part.place[i], found[i], part.rows[i].cells.size() == data.columns()});
  }
  return out;
}

// f(rows) for blocks of all rows of the data.
template <class Function>
void for_row_blocks(const PointSource& data, const Function& f) {
  std::vector<uint64_t> rows;
  for (uint64_t first = 0; first < data.rows(); first += kRows) {
    rows.resize(std::min(kRows, data.rows() - first));
    std::iota(rows.begin(), rows.end(), first);
    f(rows);
  }
}

ScoreSum sum_scores(const DensityModel& model, const PointSource& data, const LogZEstimate& log_z,
                    double precision) {
  ScoreSum sum;
  const AutoregressiveEnergy* lines = lines_of(model);
  const auto measure = interval_measure(model, data);
  std::vector<double> s, log_prob;
  for_row_blocks(data, [&](std::span<const uint64_t> rows) {
    s.resize(rows.size());
    log_prob.resize(rows.size());
    const std::vector<FoundMass> masses = source_scores(model, data, rows, measure, s);
    for (size_t i = 0; i < rows.size(); ++i) log_prob[i] = log_z.log_prob(s[i]);
    if (lines != nullptr) {
      std::vector<float> x(rows.size() * data.columns());
      data.read(rows, x);
      const LineSum found = line_sum_of(*lines, model, {x.data(), rows.size(), data.columns()}, precision);
      for (size_t i = 0; i < rows.size(); ++i) {
        log_prob[i] = s[i] - found.value[i];
        sum.line_error += found.error[i];
        sum.line_square += found.value[i] * found.value[i];
        sum.line_bound += found.bound[i];
      }
    }
    for (const FoundMass& found : masses) {
      ++sum.intervals;
      sum.doubtful_intervals += found.mass.is_doubtful ? 1 : 0;
      sum.interval_error += found.mass.error;
      if (found.is_probability) log_prob[found.place] = std::min(log_prob[found.place], log_volume(model));
    }
    for (size_t i = 0; i < rows.size(); ++i) sum.add(rows[i], s[i], log_prob[i]);
  });
  return sum;
}

constexpr uint64_t kSimpleFitRows = 20'000, kMostSimpleRows = 8192;
constexpr uint32_t kMostColumns = 50;  // of a mixture with full covariances
constexpr uint64_t kMostComponents = 32, kRowsOfComponent = 100;
constexpr uint64_t kStream = 0x73696d70;  // "simp"

// Standardised as the model has them.
std::vector<float> rows_of(const DensityModel& model, const PointSource& data,
                           std::span<const uint64_t> rows) {
  std::vector<float> x(rows.size() * data.columns());
  data.read(rows, x);
  if (model.standardisation.mean.empty()) return x;
  std::vector<float> u(x.size());
  model.standardisation.apply({x.data(), rows.size(), data.columns()}, u);
  return u;
}

using LogProb = std::function<void(const Points&, std::span<double>)>;

double nll_of(const LogProb& log_prob, const DensityModel& model, const PointSource& data,
              std::span<const uint64_t> rows) {
  double sum = 0;
  std::vector<double> log_q;
  const auto measure = interval_measure(model, data);
  for (size_t begin = 0; begin < rows.size(); begin += kMostSimpleRows) {
    const auto block = rows.subspan(begin, std::min<size_t>(kMostSimpleRows, rows.size() - begin));
    const std::vector<float> u = rows_of(model, data, block);
    log_q.resize(block.size());
    log_prob({u.data(), block.size(), data.columns()}, log_q);
    if (measure) {
      const IntervalPart part = interval_part(data, block, model.standardisation, model.energy->support());
      const auto found = measure->masses(part.rows, log_prob);
      for (size_t i = 0; i < found.size(); ++i) log_q[part.place[i]] = found[i].log_mass + part.log_scale[i];
    }
    for (const double l : log_q) sum -= l;
  }
  const double volume = model.standardisation.scale.empty() ? 0 : model.standardisation.log_volume();
  return sum / static_cast<double>(rows.size()) + volume;
}

const char* name_of(const std::string& kind, bool is_mixed) {
  if (kind == "bernoulli") return "independent bits (a product of Bernoullis)";
  if (kind == "categorical") return "independent columns (a product of categoricals)";
  if (kind == "counts") return "independent counts (a product of negative binomials)";
  if (kind == "products") return "a mixture of products";
  if (kind == "trees") return "a mixture of trees";
  if (kind == "directions")
    return is_mixed ? "a mixture of products of the columns" : "a mixture of directions";
  if (kind == "autoregressive") return "an autoregressive network";
  if (kind == "stacked") return "the proposal, several densities stacked";
  if (kind == "mixture") return "a Gaussian mixture";
  if (kind.starts_with("gaussian")) return "a Gaussian";
  return "the proposal";
}

}  // namespace

DensityEvaluation evaluate_density(const DensityModel& model, const PointSource& data,
                                   const DensityEvaluationOptions& options) {
  options.validate();
  check_columns(model, data.columns());
  if (data.rows() == 0) throw Error("the data have no rows; expected at least 1");
  JudgedLogZ z = judged_log_z(model, options);
  const ScoreSum sum = sum_scores(model, data, z.estimate, options.precision);
  const auto rows = static_cast<double>(data.rows());
  const bool has_lines = lines_of(model) != nullptr;
  if (has_lines) z.estimate = lines_estimate(sum.line_error / rows);
  const double lost = (sum.outside > 0 ? kInfinity : 0) + log_volume(model);
  DensityEvaluation out;
  out.rows = data.rows();
  out.outside = sum.outside;
  out.log_z = z.estimate;
  out.distrust = z.distrust;
  if (sum.outside > 0)
    out.distrust = fmt::format(
        "{} of {} rows (the first is {}, from 0) are outside the support of the model, where its density is "
        "0; {}",
        sum.outside, out.rows, data.number(sum.first_outside), outside_advice(model.energy->support()));
  out.is_trusted = out.distrust.empty();
  out.b = model.log_normalizer;
  out.nll = lost - sum.mean_log_prob;
  out.intervals = sum.intervals;
  out.doubtful_intervals = sum.doubtful_intervals;
  out.interval_error = sum.interval_error / static_cast<double>(out.rows);
  out.nll_low = out.nll + (z.estimate.low - z.estimate.value) - out.interval_error;
  out.nll_high = out.nll + (z.estimate.high - z.estimate.value) + out.interval_error;
  out.nll_error = sum.error();
  out.nll_b = lost - sum.mean + out.b;
  out.log_ratio = has_lines ? out.nll - out.nll_b : z.estimate.value - out.b;
  out.snl_bound = -out.nll_b - (has_lines ? sum.line_bound / rows : std::expm1(out.log_ratio));
  out.rms = has_lines ? std::sqrt(sum.line_square / rows) : std::abs(out.log_ratio);
  return out;
}

SettledDensity settle_normalizer(DensityModel& model, const PointSource& data, const DensityOptions& options,
                                 const std::function<void(const std::string&)>& say) {
  constexpr double kFarNormalizer = 0.02;  // of |b - log Z|
  SettledDensity out{evaluate_density(model, data, {.seed = options.seed, .say = say}), ""};
  DensityEvaluation& e = out.evaluation;
  const bool may_move =
      lines_of(model) == nullptr && options.calibrate && options.normalizer == "constant" && e.is_trusted;
  if (!may_move || std::abs(e.log_ratio) <= kFarNormalizer) return out;
  out.moved = fmt::format("b {:.4f} became log Z as found by {}, {:.4f}", e.b, e.log_z.method, e.log_z.value);
  model.log_normalizer = e.b = e.log_z.value;
  model.normalizer_kind = "estimated";
  e.nll_b = e.nll;
  e.snl_bound = -e.nll;
  e.log_ratio = e.rms = 0;
  return out;
}

namespace {

// f at a share of its size, where its record has the weights that it is linear in; otherwise null.
std::unique_ptr<Energy> weakened(const TiltedEnergy& energy, double share) {
  EnergyRecord record = energy.tilt().record();
  const auto output = std::ranges::find(record.tensors, std::string("output.weight"), &EnergyTensor::name);
  if (output == record.tensors.end()) return nullptr;
  for (float& weight : output->values) weight = static_cast<float>(share * static_cast<double>(weight));
  return std::make_unique<TiltedEnergy>(make_energy(record), energy.base());
}

// An energy that a proposal cannot normalise, because a few draws have most of the weight, at the largest
// share of it that can be: the tail of the weights is as heavy as f is large, and half of f has three
// quarters of what it gains. One step of kShareStep less, so that other draws find the same.
std::string weaken(DensityModel& model, const PointSource& held_out, DensityEvaluation& settled) {
  constexpr double kShareStep = 0.1;
  std::unique_ptr<Energy> full = std::move(model.energy);
  const auto& tilted = dynamic_cast<const TiltedEnergy&>(*full);
  for (double share = 1 - kShareStep; share > 1.5 * kShareStep; share -= kShareStep) {
    model.energy = weakened(tilted, share);
    if (model.energy == nullptr) break;
    if (!judged_log_z(model, {.method = "importance"}).distrust.empty()) continue;
    share -= kShareStep;
    model.energy = weakened(tilted, share);
    DensityEvaluation found = evaluate_density(model, held_out, {});
    if (!found.is_trusted) break;
    model.log_normalizer = found.b = found.log_z.value;
    model.normalizer_kind = "estimated";
    found.nll_b = found.nll;
    found.snl_bound = -found.nll;
    found.log_ratio = found.rms = 0;
    settled = std::move(found);
    return fmt::format(
        "log Z of the energy is not to be trusted; that of {:.1f} of it is, and that is the model: NLL "
        "{:.4f}",
        share, settled.nll);
  }
  model.energy = std::move(full);
  return "";
}

}  // namespace

std::string keep_proposal(DensityModel& model, const PointSource& held_out, DensityEvaluation& settled,
                          const std::string& rows) {
  const auto* tilted = dynamic_cast<const TiltedEnergy*>(model.energy.get());
  const bool tilts_proposal =
      tilted != nullptr && model.base == model.proposal && tilted->tilt().record().kind != "zero";
  if (!tilts_proposal && lines_of(model) == nullptr) return "";
  DensityModel plain;
  plain.energy = std::make_unique<TiltedEnergy>(make_zero_energy(model.dimension()), model.proposal);
  plain.proposal = model.proposal;
  plain.standardisation = model.standardisation;
  const std::string weak = settled.is_trusted || !tilts_proposal ? "" : weaken(model, held_out, settled);
  DensityEvaluation base = evaluate_density(plain, held_out, {});
  if (!base.is_trusted || (settled.is_trusted && settled.nll <= base.nll)) return weak;
  std::string text =
      settled.is_trusted
          ? fmt::format(
                "the energy gained nothing on {} rows (NLL {:.6g}, its proposal alone {:.4f}): the "
                "model is the proposal",
                rows, settled.nll, base.nll)
          : fmt::format("log Z of the energy is not to be trusted: the model is its proposal, NLL {:.4f}",
                        base.nll);
  model.energy = std::move(plain.energy);
  model.base = model.proposal;
  model.log_normalizer = 0;
  model.normalizer_kind = "exact";
  settled = std::move(base);
  return text;
}

std::vector<double> density_scores(const DensityModel& model, const Points& x,
                                   const std::optional<LogZEstimate>& log_z, double precision) {
  check_columns(model, x.columns);
  std::vector<double> out(x.rows);
  const double volume = log_volume(model);
  for (uint64_t first = 0; first < x.rows; first += kRows) {
    const uint64_t end = std::min(x.rows, first + kRows);
    const std::span<double> part = std::span(out).subspan(first, end - first);
    raw_scores(model, x.slice(first, end), first, part);
    if (log_z) subtract_lines(model, x.slice(first, end), precision, part);
  }
  for (double& s : out) s = (log_z ? log_z->log_prob(s) : s - model.log_normalizer) - volume;
  return out;
}

void RowScores::note(const RowScores& more) {
  intervals += more.intervals;
  doubtful_intervals += more.doubtful_intervals;
  largest_error = std::max(largest_error, more.largest_error);
  line_error = std::max(line_error, more.line_error);
}

DensityScorer::DensityScorer(const DensityModel& model, const PointSource& data,
                             std::optional<LogZEstimate> log_z, double precision)
    : model_(model),
      data_(data),
      log_z_(std::move(log_z)),
      precision_(precision),
      measure_(interval_measure(model, data)) {
  check_columns(model, data.columns());
}

RowScores DensityScorer::operator()(std::span<const uint64_t> rows) const {
  RowScores out{.log_p = std::vector<double>(rows.size())};
  const std::vector<FoundMass> masses = source_scores(model_, data_, rows, measure_, out.log_p);
  const double volume = log_volume(model_);
  if (log_z_ && lines_of(model_) != nullptr) {
    std::vector<float> x(rows.size() * data_.columns());
    data_.read(rows, x);
    out.line_error = subtract_lines(model_, {x.data(), rows.size(), data_.columns()}, precision_, out.log_p);
  }
  for (double& s : out.log_p) s = (log_z_ ? log_z_->log_prob(s) : s - model_.log_normalizer) - volume;
  out.intervals = masses.size();
  for (const FoundMass& found : masses) {
    out.doubtful_intervals += found.mass.is_doubtful ? 1 : 0;
    out.largest_error = std::max(out.largest_error, found.mass.error);
    if (found.is_probability) out.log_p[found.place] = std::min(out.log_p[found.place], 0.0);
  }
  return out;
}

RowScores DensityScorer::all() const {
  RowScores out;
  for_row_blocks(data_, [&](std::span<const uint64_t> rows) {
    const RowScores some = (*this)(rows);
    out.log_p.insert(out.log_p.end(), some.log_p.begin(), some.log_p.end());
    out.note(some);
  });
  return out;
}

SimpleModel simple_density(const DensityModel& model, const PointSource& data,
                           std::span<const uint64_t> train_rows, std::span<const uint64_t> held_out,
                           uint64_t seed) {
  SELFNORM_CHECK(!train_rows.empty() && !held_out.empty());
  const Density& proposal = *model.proposal;
  const auto of = [](const Density& q) -> LogProb {
    return [&q](const Points& x, std::span<double> out) { density_log_prob(q, x, out); };
  };
  const Support support = proposal.support();
  const auto* cut = dynamic_cast<const Truncated*>(&proposal);  // to the box, as --proposal KIND is there
  const std::string kind = (cut != nullptr ? cut->inner() : proposal).record().kind;
  const std::string word = kind == "gaussian-diagonal" ? "gaussian:diagonal" : kind;
  SimpleModel best{name_of(kind, support.is_mixed()), nll_of(of(proposal), model, data, held_out),
                   kind == "stacked" ? with_options("`objective fit` is that one")
                                     : worded("`objective fit` `proposal {}` is that one", word)};
  const auto take = [&](SimpleModel other) {
    if (!(best.nll <= other.nll)) best = std::move(other);
  };
  std::vector<uint64_t> chosen = random_permutation(train_rows.size(), RandomStream(seed, kStream));
  chosen.resize(std::min<size_t>(chosen.size(), kSimpleFitRows));
  for (uint64_t& i : chosen) i = train_rows[i];
  const std::vector<float> u = rows_of(model, data, chosen);
  const Points points{u.data(), chosen.size(), data.columns()};
  const bool is_chosen = kind == "stacked" || kind == "products" || kind == "trees" ||
                         kind == "autoregressive" || support.is_mixed() || data.has_intervals();
  if (is_chosen) return best;
  if (support.space == Support::Space::levels) {
    const auto mixture = fit_product_mixture(points, support, {.seed = seed}).density;
    const bool is_binary =
        std::all_of(support.levels.begin(), support.levels.end(), [](uint32_t n) { return n == 2; });
    take({fmt::format("a mixture of {} products of {}", mixture->components(),
                      is_binary ? "Bernoullis" : "categoricals"),
          nll_of(of(*mixture), model, data, held_out),
          with_options("try `objective pseudo-likelihood`, `energy rbm` or more `steps`")});
  } else if (support.is_real() && support.wraps.empty() && kind != "mixture" &&
             data.columns() <= kMostColumns) {
    const uint64_t components = std::clamp<uint64_t>(chosen.size() / kRowsOfComponent, 1, kMostComponents);
    const auto mixture = fit_density(fmt::format("mixture:{}", components), points, {.seed = seed});
    take({fmt::format("a Gaussian mixture of {} components", components),
          nll_of(of(*mixture), model, data, held_out),
          worded("`objective fit` `proposal mixture:{}` is that one", components)});
  }
  return best;
}

}  // namespace selfnorm
