#include "document/picture.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr double kOuter = 0.005, kBarMargin = 0.1;

}  // namespace

ReportFigure shown(Picture picture) {
  return {std::move(picture.name), std::move(picture.look), std::move(picture.figure)};
}

std::vector<uint64_t> spread_rows(uint64_t rows, uint64_t most) {
  std::vector<uint64_t> chosen(std::min(rows, most));
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i * rows / chosen.size();
  return chosen;
}

double shortened(double value) { return rounded(value, 5); }

std::vector<double> sorted_numbers(const std::vector<double>& values) {
  std::vector<double> sorted;
  for (const double v : values)
    if (!std::isnan(v)) sorted.push_back(v);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

Bins real_bins(const std::vector<double>& values, size_t count) {
  const std::vector<double> sorted = sorted_numbers(values);
  SELFNORM_CHECK(!sorted.empty() && count > 0);
  double low = at_share(sorted, kOuter), high = at_share(sorted, 1 - kOuter);
  if (low == high) low = sorted.front(), high = sorted.back();
  const double margin = low == high ? std::max(1.0, kBarMargin * std::abs(low)) : kBarMargin * (high - low);
  return {low - margin, (high - low + 2 * margin) / static_cast<double>(count), count};
}

Bins whole_bins(const std::vector<double>& values, size_t most) {
  const std::vector<double> sorted = sorted_numbers(values);
  SELFNORM_CHECK(!sorted.empty() && most > 0);
  const double numbers = at_share(sorted, 1 - kOuter) - sorted.front() + 1;
  const double width = std::ceil(numbers / static_cast<double>(most));
  return {sorted.front() - 0.5, width, static_cast<size_t>(std::ceil(numbers / width))};
}

std::vector<double> bin_densities(const std::vector<double>& values, const Bins& bins) {
  std::vector<double> out(bins.count);
  const double share = 1 / (static_cast<double>(values.size()) * bins.width);
  for (const double v : values) {
    const double place = std::floor((v - bins.low) / bins.width);
    if (place >= 0 && place < static_cast<double>(bins.count)) out[static_cast<size_t>(place)] += share;
  }
  return out;
}

Series histogram_bars(const std::string& name, const std::vector<double>& values, const Bins& bins) {
  Series out{.name = name, .x = {}, .y = {}, .stroke = Stroke::bars, .colour = 5};
  for (const double y : bin_densities(values, bins)) {
    out.x.push_back(bins.edge(out.x.size()));
    out.x_end.push_back(bins.edge(out.x.size()));
    out.y.push_back(shortened(y));
  }
  return out;
}

Series histogram_steps(const std::string& name, const std::vector<double>& values, const Bins& bins) {
  Series out{.name = name, .x = {}, .y = {}, .stroke = Stroke::line, .colour = 1};
  size_t k = 0;
  for (const double y : bin_densities(values, bins)) {
    out.x.insert(out.x.end(), {bins.edge(k), bins.edge(k + 1)});
    out.y.insert(out.y.end(), {shortened(y), shortened(y)});
    ++k;
  }
  return out;
}

}  // namespace selfnorm
