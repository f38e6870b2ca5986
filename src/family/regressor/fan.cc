#include "family/regressor/fan.h"

#include <fmt/format.h>

namespace selfnorm {

const std::vector<double>& Fan::levels() {
  static const std::vector<double> levels{0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975};
  return levels;
}

Panel fan_panel(const Fan& fan, const std::string& x_label, const std::string& y_label) {
  const size_t last = Fan::levels().size() - 1, middle = last / 2;
  Panel panel{.title = "", .x = {.label = x_label}, .y = {.label = y_label}, .series = {}};
  for (size_t b = 0; b < middle; ++b) {
    // There along the lower ends, back along the upper ones.
    Series band{.name = fmt::format("{:.6g}% of the mass", 100 * (1 - 2 * Fan::levels()[b])),
                .x = fan.x,
                .y = {},
                .stroke = Stroke::region,
                .colour = b + 1 < middle ? 5u : 0u};
    band.x.insert(band.x.end(), fan.x.rbegin(), fan.x.rend());
    for (const auto& quantiles : fan.quantiles) band.y.push_back(quantiles[b]);
    for (size_t i = fan.x.size(); i-- > 0;) band.y.push_back(fan.quantiles[i][last - b]);
    panel.series.push_back(std::move(band));
  }
  Series median{.name = "median", .x = fan.x, .y = {}, .stroke = Stroke::line};
  for (const auto& quantiles : fan.quantiles) median.y.push_back(quantiles[middle]);
  panel.series.push_back(std::move(median));
  if (fan.target_x.empty()) return panel;
  panel.series.push_back(
      {.name = "targets", .x = fan.target_x, .y = fan.target_y, .stroke = Stroke::points, .colour = 1});
  return panel;
}

}  // namespace selfnorm
