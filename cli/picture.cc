#include "picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "output.h"
#include "selfnorm/base/atomic_file.h"
#include "selfnorm/base/error.h"
#include "selfnorm/report/drawing.h"

namespace selfnorm::cli {

std::vector<std::string> write_pictures(const std::vector<Picture>& pictures, const std::string& folder,
                                        const std::string& option, bool quiet) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    throw Error(fmt::format("{} {}: the folder cannot be created ({})", option, folder, failure.message()));
  std::vector<std::string> files;
  std::string problem;
  for (const Picture& picture : pictures) {
    const std::string base = folder + "/" + picture.name;
    AtomicFile data(base + ".csv");
    data.write(csv_text(picture.data));
    data.commit();
    files.push_back(base + ".csv");
    if (picture.figure.panels.empty()) continue;
    if (const std::string found = draw_figure(picture.figure, folder, picture.name); found.empty())
      files.push_back(base + ".svg");
    else
      problem = found;
  }
  if (!problem.empty() && !quiet) warning(problem);
  return files;
}

std::vector<uint64_t> spread_rows(uint64_t rows, uint64_t most) {
  std::vector<uint64_t> chosen(std::min(rows, most));
  for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i * rows / chosen.size();
  return chosen;
}

double shortened(double value) { return std::stod(fmt::format("{:.5g}", value)); }

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
  panel.series.push_back(
      {.name = "targets", .x = fan.target_x, .y = fan.target_y, .stroke = Stroke::points, .colour = 1});
  return panel;
}

}  // namespace selfnorm::cli
