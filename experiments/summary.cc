#include "experiments/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace selfnorm {

MeanError mean_error(const std::vector<double>& values) {
  MeanError out;
  double sum = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    sum += v;
    ++out.count;
  }
  out.missing = values.size() - out.count;
  if (out.count == 0) {
    out.mean = NAN;
    return out;
  }
  const double n = static_cast<double>(out.count);
  out.mean = sum / n;
  double square = 0;
  for (const double v : values)
    if (std::isfinite(v)) square += (v - out.mean) * (v - out.mean);
  if (out.count > 1) out.error = std::sqrt(square / (n - 1) / n);
  return out;
}

std::string written(const MeanError& value) {
  if (value.count == 0) return value.missing > 0 ? "failed" : "-";
  std::string out = fmt::format("{:.4f}", value.mean);
  if (value.count > 1) out += fmt::format(" +- {:.4f}", value.error);
  if (value.missing > 0) out += fmt::format(" ({} of {} failed)", value.missing, value.count + value.missing);
  return out;
}

std::string percent(const MeanError& share) {
  return share.count == 0 ? "-" : fmt::format("{:.3g}%", 100 * share.mean);
}

std::vector<double> numbers_of(const std::vector<CellValues>& cells, const std::string& name) {
  std::vector<double> out(cells.size());
  std::transform(cells.begin(), cells.end(), out.begin(),
                 [&](const CellValues& cell) { return cell.at(name); });
  return out;
}

MeanError mean_of(const std::vector<CellValues>& cells, const std::string& name) {
  return mean_error(numbers_of(cells, name));
}

MeanError mean_difference(const std::vector<CellValues>& first, const std::vector<CellValues>& second,
                          const std::string& name) {
  std::vector<double> values;
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i)
    values.push_back(first[i].at(name) - second[i].at(name));
  return mean_error(values);
}

bool is_no_worse(const std::vector<CellValues>& first, const std::vector<CellValues>& second,
                 const std::string& name) {
  const MeanError difference = mean_difference(first, second, name);
  const double noise = std::max(2 * difference.error, mean_of(first, name).error);
  return difference.missing == 0 && difference.mean <= noise;
}

Trials::Trials(const ExperimentOptions& options, double work)
    : options_(options), cells_(options.cells), work_(work) {}

uint64_t Trials::seed(size_t i) const { return 4 * (options_.seed - 1) + i; }

CellValues Trials::get(const std::string& key, double work, const std::function<CellValues()>& compute) {
  CellValues out = cells_.get(key, compute);
  done_ += work;
  options_.progress(std::min(1.0, done_ / work_));
  return out;
}

}  // namespace selfnorm
