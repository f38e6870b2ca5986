#include "family/density/density_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "document/picture.h"
#include "family/density/density_sample.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kMostRows = 20'000, kSamples = 500;
constexpr double kLeastShownPool = 1000, kMostShownPool = 200'000, kPoolWork = 1e9;  // numbers read
// Evaluations of sixteen chains: 550 transitions of HMC, 8.5 leapfrog steps each, a gradient being worth
// three evaluations; 250 sweeps of Gibbs.
constexpr double kChains = 16, kTransitions = 550 * 8.5 * 3, kSweeps = 250;

double numbers_of(const std::shared_ptr<const Density>& density) {
  double count = 0;
  if (density != nullptr)
    for (const auto& [name, values] : density->record().values) count += static_cast<double>(values.size());
  return count;
}

double crf_evaluations(const Support& support) {
  return kChains * (support.is_real()
                        ? kTransitions
                        : kSweeps * std::accumulate(support.levels.begin(), support.levels.end(), 0.0));
}

std::vector<double> column_of(const std::vector<float>& rows, uint32_t columns, uint32_t j) {
  std::vector<double> out;
  for (size_t i = j; i < rows.size(); i += columns) out.push_back(static_cast<double>(rows[i]));
  return out;
}

std::string quality_of(const DensitySample& sample) {
  std::string text = fmt::format("{} samples by {}", kSamples, sample.method);
  if (sample.r_hat.empty()) return text + fmt::format(" from draws worth {:.0f}", sample.pool_effective);
  return text + fmt::format(" worth {:.0f} or more, R-hat {:.3f} or less",
                            *std::ranges::min_element(sample.effective),
                            *std::ranges::max_element(sample.r_hat));
}

void draw(const DensityModel& model, uint64_t seed, DensityPoints& out) {
  const double cost = evaluation_cost(model);
  DensitySampleOptions options{.count = kSamples, .seed = seed};
  options.pool = static_cast<uint64_t>(std::clamp(kPoolWork / cost, kLeastShownPool, kMostShownPool));
  const bool has_chains = cost * crf_evaluations(model.energy->support()) <= kAffordableWork;
  if (!has_chains) options.method = "sir";
  try {
    DensitySample sample = sample_density_model(model, options);
    const std::string doubt = sample_doubt(sample, kSamples);
    out.samples = std::move(sample.rows);
    out.quality = quality_of(sample);
    out.is_trusted = doubt.empty();
    if (!has_chains && !doubt.empty()) out.quality += ", for chains would take long here";
  } catch (const Error& error) {
    out.quality = fmt::format("no samples: {}", error.what());
    out.is_trusted = false;
  }
}

}  // namespace

std::vector<double> DensityPoints::data_column(uint32_t j) const { return column_of(data, columns, j); }
std::vector<double> DensityPoints::sample_column(uint32_t j) const { return column_of(samples, columns, j); }

std::vector<float> DensityPoints::some_data(uint64_t most) const {
  std::vector<float> out;
  const Points rows{data.data(), data.size() / columns, columns};
  for (const uint64_t i : spread_rows(rows.rows, most))
    out.insert(out.end(), rows.row(i).begin(), rows.row(i).end());
  return out;
}

double evaluation_cost(const DensityModel& model) {
  const double parameters = static_cast<double>(std::as_const(*model.energy).parameters().size());
  return static_cast<double>(model.dimension()) + parameters + numbers_of(model.proposal) +
         numbers_of(model.base);
}

DensityPoints density_points(const DensityModel& model, const PointSource& data, uint64_t seed) {
  DensityPoints out;
  out.columns = data.columns();
  out.names = data.names();
  if (out.names.empty())
    for (uint32_t j = 0; j < out.columns; ++j) out.names.push_back(fmt::format("x{}", j + 1));
  const std::vector<uint64_t> rows = spread_rows(data.rows(), kMostRows);
  out.data.resize(rows.size() * out.columns);
  data.read(rows, out.data);
  draw(model, seed, out);
  return out;
}

}  // namespace selfnorm
