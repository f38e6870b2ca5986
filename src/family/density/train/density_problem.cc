#include "family/density/train/density_problem.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "base/failure.h"
#include "data/points/direction_map.h"
#include "family/density/train/column_moments.h"
#include "model/energy/energy.h"
#include "model/energy/exponential_family.h"
#include "model/energy/make_energy.h"
#include "model/energy/tilted.h"
#include "objective/registry.h"
#include "proposal/density/choose_density.h"
#include "proposal/density/make_density.h"

namespace selfnorm {
namespace {

constexpr uint64_t kFewRows = 100;
constexpr uint64_t kFitRows = 100'000;  // a proposal is fitted to at most so many
constexpr double kMostOfSpace = 1 << 16;
constexpr uint64_t kFitStream = 0xF17, kCompletionStream = 0xF18;
constexpr uint64_t kRowsOfMixture = 400;

bool is_network(const std::string& energy) { return energy.starts_with("mlp") || energy.ends_with(".pt"); }

// The space that an energy has whatever the data are; "auto": that of the data.
std::string space_of_energy(const std::string& energy) {
  if (energy == "poisson") return "counts";
  if (energy == "bernoulli" || energy == "ising" || energy.starts_with("rbm")) return "binary";
  return is_exponential_family(energy) ? "real" : "auto";
}

// `asker` is the option that names the word.
Support space_of(const std::string& word, const std::string& asker, const ColumnReading& moments) {
  const double most = *std::max_element(moments.upper.begin(), moments.upper.end());
  const bool is_binary = moments.is_whole() && most <= 1;
  if (word == "real" || (word == "auto" && !is_binary)) return Support::reals();
  if (!moments.is_whole()) throw_error("{} needs whole numbers from 0; the data have others", asker);
  Support space;
  if (word == "counts") {
    space.space = Support::Space::counts;
    return space;
  }
  if (word == "binary" && !is_binary)
    throw_error("{} needs the values 0 and 1; the largest value is {}", asker, most);
  if (most >= kMostOfSpace)
    throw_error("{}: the largest value is {}; expected less than {}", asker, most, kMostOfSpace);
  space.space = Support::Space::levels;
  for (const double upper : moments.upper)
    space.levels.push_back(is_binary || word == "binary" ? 2 : static_cast<uint32_t>(upper) + 1);
  return space;
}

uint32_t fourier_features(const std::string& word, bool is_low) {
  if (word == "auto") return is_low ? 64 : 0;
  uint32_t count = 0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end)
    throw_error("fourier is '{}'; expected auto or a number of features", word);
  return count;
}

}  // namespace

DensityProblem::DensityProblem(const PointSource& data, std::span<const uint64_t> train_rows,
                               std::span<const uint64_t> valid_rows, const DensityOptions& options,
                               std::function<void(const std::string&)> say)
    : data_(data), options_(resolved_steps(options)), say_(std::move(say)) {
  options_.validate();
  if (train_rows.size() < 2)
    throw_error("{} rows to train on; a density needs at least 2", train_rows.size());
  look_at(train_rows, valid_rows);
  resolve_words();
  if (!options_.geometry.turns() && !space_.is_mixed() && !wants_standardisation()) standardisation_ = {};
  if (has_box()) cut_to_box();
  if (train_rows.size() < kFewRows && is_network(options_.energy) && !is_fit())
    warnings_.push_back(
        worded("{} training rows are few for a network; compare with `objective fit` `proposal gaussian`",
               train_rows.size()));
  fit_proposal(train_rows, valid_rows);
  build_energy();
  check_support(train_rows);
}

ColumnReading DensityProblem::reading_of(std::span<const uint64_t> rows) const {
  const uint32_t d = data_.columns();
  ColumnReading moments(d);
  std::vector<float> block;
  for (uint64_t first = 0; first < rows.size(); first += kBlock) {
    const auto part = rows.subspan(first, std::min(kBlock, rows.size() - first));
    block.resize(part.size() * d);
    read_inside(part, block);
    for (uint64_t i = 0; i < part.size(); ++i) moments.add({block.data() + i * d, d});
  }
  return moments;
}

// Of an interval the part in the box.
IntervalCell DensityProblem::in_box(const IntervalCell& cell) const {
  if (options_.lower.size() != data_.columns()) return cell;
  return {cell.column, std::max(cell.low, static_cast<float>(options_.lower[cell.column])),
          std::min(cell.high, static_cast<float>(options_.upper[cell.column]))};
}

void DensityProblem::read_inside(std::span<const uint64_t> rows, std::span<float> out) const {
  data_.read(rows, out);
  if (!has_intervals() || options_.lower.empty()) return;
  for (size_t i = 0; i < rows.size(); ++i)
    for (const IntervalCell& cell : data_.intervals(rows[i])) {
      const IntervalCell part = in_box(cell);
      float& x = out[i * data_.columns() + cell.column];
      if (!(part.low < part.high) || (x > part.low && x < part.high)) continue;
      x = std::isinf(part.low) ? part.high : std::isinf(part.high) ? part.low : part.low / 2 + part.high / 2;
    }
}

void DensityProblem::check_intervals(std::span<const uint64_t> rows) const {
  if (!has_intervals() || options_.lower.empty()) return;
  for (const uint64_t row : rows)
    for (const IntervalCell& cell : data_.intervals(row)) {
      const IntervalCell part = in_box(cell);
      if (part.low < part.high) continue;
      throw_error(
          "row {} (from 0) has the interval {}..{} in column {}, {}; leave such rows out, or give other ends",
          data_.number(row), cell.low, cell.high,
          data_.names().empty() ? std::to_string(cell.column) : "'" + data_.names()[cell.column] + "'",
          with_options(cell.high <= part.low ? "nothing of which is above `lower`"
                                             : "nothing of which is below `upper`"));
    }
}

void DensityProblem::look_at(std::span<const uint64_t> rows, std::span<const uint64_t> valid_rows) {
  const uint32_t d = data_.columns();
  check_intervals(rows);
  const ColumnReading moments = reading_of(rows), held_out = reading_of(valid_rows);
  if (has_box()) check_box(moments);
  if (options_.geometry.sphere != PointGeometry::Sphere::none) {
    require_network("points of the sphere");
    space_ = DirectionMap::sphere().support();
    return;
  }
  std::vector<bool> is_binary(d), stays_binary(d);  // where it is so in the training rows: in all
  for (uint32_t j = 0; j < d; ++j) {
    stays_binary[j] = held_out.whole[j] && held_out.upper[j] <= 1;
    is_binary[j] = moments.whole[j] && moments.upper[j] <= 1 && stays_binary[j];
  }
  std::vector<uint32_t> levels = column_levels(moments, is_binary);
  if (!options_.geometry.period.empty() || std::ranges::any_of(levels, [](uint32_t n) { return n > 0; }))
    return look_at_columns(moments, std::move(levels));
  SELFNORM_CHECK(options_.space != "torus" && options_.space != "sphere");
  if (const std::string needed = space_of_family(options_.energy); !needed.empty() && !is_fit())
    throw_error("`energy {}` needs `space {}`", options_.energy, needed);
  const std::string own = is_fit() ? "auto" : space_of_energy(options_.energy);
  const bool is_implied = options_.space == "auto" && own != "auto";
  const std::string asker =
      is_implied ? option_text("energy", options_.energy) : option_text("space", options_.space);
  if (is_implied) options_.space = own;
  if (own != "auto" && options_.space != own)
    throw_error("`energy {}` is over {} numbers; expected `space {}` or auto, found `space {}`",
                options_.energy, own == "real" ? "real" : "whole", own, options_.space);
  const bool may_be_binary = std::ranges::all_of(stays_binary, [](bool stays) { return stays; });
  space_ = space_of(options_.space == "auto" && !may_be_binary ? "real" : options_.space, asker, moments);
  if (space_.is_real() && (is_fit() || !is_exponential_family(options_.energy))) {
    require_spread(moments, data_.names());
    warnings_ = column_warnings(moments, data_.names());
  }
  standardisation_.mean = moments.mean;
  for (uint32_t j = 0; j < d; ++j) {
    const double deviation = moments.deviation(j);
    standardisation_.scale.push_back(deviation > 0 ? deviation : 1);
  }
}

void DensityProblem::require_network(const char* columns) const {
  const bool is_sphere = options_.geometry.sphere != PointGeometry::Sphere::none;
  const std::string own = is_sphere ? "sphere" : "torus";
  const bool is_angles_own = options_.energy == "von-mises" && !options_.geometry.period.empty();
  if (is_fit() || is_network(options_.energy) || options_.energy == "auto" || is_angles_own ||
      (options_.geometry.turns() && space_of_family(options_.energy) == own))
    return;
  throw_error("`energy {}` is not over {}; expected mlp, a module{}", options_.energy, columns,
              is_sphere                   ? ", von-mises-fisher or fisher-bingham"
              : options_.geometry.turns() ? ", von-mises or bivariate-von-mises"
                                          : "");
}

// Of every column: that of its words; 2 where it is 0 or 1, and both, beside columns that are not; 0: it is
// real.
std::vector<uint32_t> DensityProblem::column_levels(const ColumnReading& moments,
                                                    const std::vector<bool>& is_binary) const {
  const Categories& words = options_.geometry.categories;
  std::vector<uint32_t> out(data_.columns());
  for (size_t j = 0; j < words.size(); ++j) out[j] = static_cast<uint32_t>(words[j].size());
  const bool is_auto = options_.space == "auto", is_levels = options_.space == "categorical";
  if (!words.empty() && !is_auto && !is_levels)
    throw_error("`space {}`: column {} has words; leave it out (`drop`), or give `space` auto or categorical",
                options_.space, std::ranges::find_if(out, [](uint32_t n) { return n > 0; }) - out.begin());
  if (words.empty() && !(is_auto && may_be_mixed())) return out;
  bool has_others = !words.empty();
  for (size_t j = 0; j < out.size(); ++j) has_others = has_others || !is_binary[j];
  const auto turns = [&](size_t j) {
    return !options_.geometry.period.empty() && options_.geometry.period[j] > 0;
  };
  for (size_t j = 0; j < out.size() && has_others; ++j) {
    if (out[j] > 0 || turns(j)) continue;
    if (is_binary[j] && moments.is_binary(j)) out[j] = 2;
    if (!is_levels) continue;
    if (!moments.whole[j] || moments.upper[j] >= kMostOfSpace)
      throw_error("`space categorical`: column {} has values that are no whole numbers below {}", j,
                  kMostOfSpace);
    out[j] = static_cast<uint32_t>(moments.upper[j]) + 1;
  }
  return out;
}

// Whether what is fitted and how takes numbers and levels together.
bool DensityProblem::may_be_mixed() const {
  const ObjectiveSeam seam = objective_entry(options_.objective).seam;
  const std::string proposal = options_.proposal.substr(0, options_.proposal.find(':'));
  const bool takes = proposal == "auto" || proposal == "products" || proposal == "kernels" ||
                     proposal == "neighbours" || proposal == "directions" || proposal == "autoregressive";
  return takes && options_.learn_proposal == "none" && seam != ObjectiveSeam::matching &&
         seam != ObjectiveSeam::chains && options_.base != "none" &&
         (is_fit() || is_network(options_.energy) || options_.energy == "auto");
}

// Angles become radians whatever is standardised; levels stay.
void DensityProblem::look_at_columns(const ColumnReading& moments, std::vector<uint32_t> levels) {
  const std::vector<double>& period = options_.geometry.period;
  require_network(period.empty() ? "words and levels" : "angles");
  require_spread(moments, data_.names(), levels);
  if (std::ranges::any_of(levels, [](uint32_t n) { return n > 0; }))
    warnings_ = column_warnings(moments, data_.names(), levels);
  std::vector<bool> is_angle(data_.columns());
  for (uint32_t j = 0; j < data_.columns(); ++j) {
    is_angle[j] = !period.empty() && period[j] > 0;
    const bool moves = options_.standardise && !is_angle[j] && levels[j] == 0;
    const double deviation = moves && moments.deviation(j) > 0 ? moments.deviation(j) : 1;
    standardisation_.mean.push_back(moves ? moments.mean[j] : 0);
    standardisation_.scale.push_back(is_angle[j] ? period[j] / (2 * std::numbers::pi) : deviation);
  }
  space_ = Support::mixed(std::move(levels), std::move(is_angle));
}

// Families have their box themselves.
bool DensityProblem::has_box() const {
  return !options_.lower.empty() && (!is_exponential_family(options_.energy) || is_fit());
}

void DensityProblem::check_box(const ColumnReading& moments) const {
  if (options_.lower.size() != data_.columns())
    throw_error("`lower` and `upper` have {} numbers; the data have {} columns", options_.lower.size(),
                data_.columns());
  const std::vector<std::string>& names = data_.names();
  for (size_t j = 0; j < options_.lower.size(); ++j) {
    const auto low = static_cast<float>(options_.lower[j]), high = static_cast<float>(options_.upper[j]);
    const bool is_low = moments.lower[j] < static_cast<double>(low);
    if (!is_low && moments.upper[j] <= static_cast<double>(high)) continue;
    throw_error("column {} has the value {:.6g}, {} {}; leave such rows out, or give other ends",
                names.empty() ? std::to_string(j) : "'" + names[j] + "'",
                is_low ? moments.lower[j] : moments.upper[j],
                with_options(is_low ? "below `lower`" : "above `upper`"),
                is_low ? options_.lower[j] : options_.upper[j]);
  }
}

// --lower and --upper in the units that points are trained in, rounded as the points are.
void DensityProblem::cut_to_box() {
  if (!space_.is_real() || !space_.wraps.empty())
    throw_error(
        "`lower` and `upper` are for columns of real numbers, and these data have others; leave them out");
  const auto moved = [&](double end, size_t j) {
    if (!std::isfinite(end) || standardisation_.mean.empty()) return end;
    const auto as_float = static_cast<double>(static_cast<float>(end));
    return static_cast<double>(
        static_cast<float>((as_float - standardisation_.mean[j]) / standardisation_.scale[j]));
  };
  for (size_t j = 0; j < options_.lower.size(); ++j) {
    space_.lower.push_back(moved(options_.lower[j], j));
    space_.upper.push_back(moved(options_.upper[j], j));
  }
}

void DensityProblem::resolve_words() {
  const auto has_two = [](uint32_t levels) { return levels == 2; };
  const bool is_binary = space_.space == Support::Space::levels &&
                         std::all_of(space_.levels.begin(), space_.levels.end(), has_two);
  if (options_.energy == "auto") options_.energy = "mlp:128,128";
  options_.mlp.fourier = fourier_features(options_.fourier, space_.is_real() && data_.columns() <= 3);
  if (options_.base == "auto") options_.base = is_network(options_.energy) ? "proposal" : "none";
  if (is_fit()) options_.base = "proposal";
  const std::string& name = options_.objective;
  const ObjectiveSeam seam = objective_entry(name).seam;
  if (is_autoregressive(options_.energy) && !is_fit())
    check_autoregressive(options_, space_, has_intervals());
  if (seam == ObjectiveSeam::chains && !space_.has_chains())
    throw_error("objective {} has no chains over counts and mixed tables; use snl, nce or is", name);
  if (seam == ObjectiveSeam::matching && !space_.is_real())
    throw_error(
        "objective {} needs derivatives in x; the data have columns of whole numbers or words. Use snl, nce "
        "or "
        "pseudo-likelihood, or `space real`",
        name);
  if (seam == ObjectiveSeam::conditionals && !is_binary)
    throw Error("objective pseudo-likelihood needs binary data, values 0 and 1");
  if (is_network(options_.energy) && options_.base == "none" &&
      (!space_.is_real() || !options_.lower.empty()))
    throw_error("a network over whole numbers or in a box needs `base proposal`, which says where it ends");
}

bool DensityProblem::is_fit() const {
  return objective_entry(options_.objective).seam == ObjectiveSeam::proposal;
}

bool DensityProblem::wants_standardisation() const {
  return options_.standardise && space_.is_real() &&
         (is_network(options_.energy) || is_autoregressive(options_.energy) ||
          options_.energy == "gaussian" || is_fit());
}

void DensityProblem::read(std::span<const uint64_t> rows, std::vector<float>& out) const {
  out.resize(rows.size() * data_.columns());
  read_inside(rows, out);
  if (!standardisation_.mean.empty()) standardisation_.apply({out.data(), rows.size(), data_.columns()}, out);
}

void DensityProblem::fit_proposal(std::span<const uint64_t> rows, std::span<const uint64_t> valid_rows) {
  std::vector<uint64_t> chosen(rows.begin(), rows.end());
  if (chosen.size() > kFitRows) {
    RandomStream(options_.seed, kFitStream).shuffle(chosen);
    chosen.resize(kFitRows);
  }
  std::vector<float> points;
  read(chosen, points);
  FitOptions fit = options_.fit;
  fit.seed = options_.seed;
  fit.space = space_;
  complete(chosen, fit, points);
  const Points fitted{points.data(), chosen.size(), data_.columns()};
  if (options_.proposal == "auto")
    choose_proposal(fitted, valid_rows, fit);
  else
    proposal_ = fit_density(options_.proposal, fitted, fit);
  if (proposal_->support().space != space_.space && !is_exponential_family(options_.energy))
    throw_error("a proposal '{}' does not fit the data, which are {}; expected {}, or give `space`",
                options_.proposal,
                space_.is_real()    ? "real numbers"
                : space_.is_mixed() ? "real numbers and levels"
                                    : "whole numbers",
                space_.is_real()    ? "uniform, gaussian, student-t, mixture or kde"
                : space_.is_mixed() ? "products, kernels, neighbours or autoregressive"
                                    : "bernoulli, categorical, counts, products, trees or autoregressive");
  if (!space_.wraps.empty() && proposal_->support().wraps != space_.wraps)
    throw_error(
        "a proposal '{}' is not over angles; expected directions, kernels, neighbours, uniform or "
        "autoregressive",
        options_.proposal);
  if (options_.learn_proposal == "none") return;
  learnable_ = dynamic_cast<LearnableDensity*>(proposal_.get());
  if (learnable_ == nullptr)
    throw_error(
        "`learn-proposal`: a proposal '{}' cannot be learned; expected gaussian, mixture, bernoulli or "
        "categorical",
        options_.proposal);
}

// Simple densities first, then the proposal itself where it is quickly fitted.
void DensityProblem::complete(std::span<const uint64_t> rows, const FitOptions& fit,
                              std::vector<float>& points) {
  if (!has_intervals()) return;
  const IntervalPart part = interval_part(data_, rows, standardisation_, space_);
  const Points all{points.data(), rows.size(), data_.columns()};
  struct Rounds {
    std::string word;
    uint64_t count;
  };
  std::vector<Rounds> plan{{"gaussian", 12}, {"mixture:8", 4}};
  if (!space_.is_real() || !space_.wraps.empty()) plan = {{"products:1", 6}, {"products:8", 4}};
  const std::string kind = options_.proposal.substr(0, options_.proposal.find(':'));
  if (kind == "gaussian") plan = {{options_.proposal, 24}};
  if (kind == "student-t" || kind == "mixture") plan[1] = {options_.proposal, 6};
  if (rows.size() < kRowsOfMixture) plan.resize(1);
  uint64_t round = 0;
  for (const auto& [word, count] : plan) {
    if (say_) say_(fmt::format("completing {} rows with intervals by draws of {}", part.rows.size(), word));
    for (uint64_t i = 0; i < count; ++i) {
      completion_ = fit_density(word, all, fit);
      complete_rows(part, *completion_, RandomStream(options_.seed, kCompletionStream + round++).next(),
                    points);
    }
  }
}

IntervalStore DensityProblem::interval_store(std::span<const uint64_t> rows, uint64_t seed) const {
  return {interval_part(data_, rows, standardisation_, space_), rows, *proposal_, seed, tilt_ == nullptr};
}

PointScores DensityProblem::tilt_scores() const {
  const Energy& energy = tilt_ != nullptr ? *tilt_ : *energy_;
  return [&energy](const Points& x, std::span<double> s) { energy.score(x, s); };
}

void DensityProblem::choose_proposal(const Points& fitted, std::span<const uint64_t> valid_rows,
                                     const FitOptions& fit) {
  using Effort = ChoiceOptions::Effort;
  std::vector<float> judges;
  read(valid_rows, judges);
  if (completion_)
    complete_rows(interval_part(data_, valid_rows, standardisation_, space_), *completion_, options_.seed,
                  judges);
  const ScoreMatching matching = objective_entry(options_.objective).matching;
  const bool is_tilted = is_fit() || is_network(options_.energy) || is_autoregressive(options_.energy);
  DensityChoice choice =
      choose_density(fitted, {judges.data(), valid_rows.size(), data_.columns()},
                     {.effort = options_.learn_proposal != "none" ? Effort::learnable
                                : is_tilted                       ? Effort::full
                                                                  : Effort::quick,
                      .fit = fit,
                      .log_volume = standardisation_.log_volume(),
                      .is_smooth = objective_entry(options_.objective).seam == ObjectiveSeam::matching &&
                                   matching != ScoreMatching::denoising,
                      .say = say_});
  proposal_ = std::move(choice.density);
  choice_ = std::move(choice.text);
  if (completion_) choice_ += "; intervals are completed by draws there";
  if (choice.word != "stacked") options_.proposal = choice.word;
}

void DensityProblem::build_energy() {
  std::unique_ptr<Energy> energy;
  if (is_fit()) {
    energy = make_zero_energy(data_.columns());
  } else {
    EnergyPlan plan{.word = options_.energy,
                    .dimension = data_.columns(),
                    .mlp = options_.mlp,
                    .lower = options_.lower,
                    .upper = options_.upper,
                    .space = space_,
                    .seed = options_.seed,
                    .code = options_.code};
    energy = make_energy(plan);
  }
  if (energy->dimension() != data_.columns())
    throw_error("the energy takes {} columns; the data have {}", energy->dimension(), data_.columns());
  if (options_.base == "proposal") {
    // A proposal that is learned moves; what is tilted stays.
    std::shared_ptr<const Density> base = proposal_;
    if (learnable_ != nullptr) base = make_density(proposal_->record(), data_.columns());
    if (learnable_ == nullptr) tilt_ = energy.get();
    energy = std::make_unique<TiltedEnergy>(std::move(energy), base);
    base_ = std::move(base);
  }
  energy_ = std::move(energy);
}

void DensityProblem::check_support(std::span<const uint64_t> rows) const {
  const Support support = energy_->support();
  if (!support.is_real() || !support.lower.empty())
    for_blocks(rows, [&](const Points& x, std::span<const uint64_t> numbers) {
      require_inside(*energy_, x, numbers);
    });
  // Score matching integrates by parts, which leaves a term at walls; a circle has none, but noise leaves it.
  const std::string& name = options_.objective;
  const ObjectiveEntry& objective = objective_entry(name);
  const bool is_circle = options_.energy == "von-mises" && objective.matching != ScoreMatching::denoising;
  const auto is_wall = [](double side) { return std::isfinite(side); };
  const bool has_walls = std::any_of(support.lower.begin(), support.lower.end(), is_wall) ||
                         std::any_of(support.upper.begin(), support.upper.end(), is_wall);
  if (objective.seam == ObjectiveSeam::matching && has_walls && !is_circle)
    throw_error("objective {} is wrong where the support ends, and that of {} does; use snl, nce or is", name,
                options_.energy);
}

DensityModel DensityProblem::release() {
  DensityModel model;
  model.energy = std::move(energy_);
  model.proposal = proposal_;
  model.base = base_;
  model.standardisation = standardisation_;
  model.geometry = options_.geometry;
  const bool is_sphere = options_.geometry.sphere != PointGeometry::Sphere::none;
  model.feature_names = is_sphere ? options_.geometry.names : data_.names();
  return model;
}

}  // namespace selfnorm
