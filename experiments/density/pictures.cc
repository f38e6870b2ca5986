#include "experiments/density/pictures.h"

#include "experiments/density/trial.h"

namespace selfnorm {
namespace {

constexpr uint64_t kShown = 250;  // points of data: each is an element of the drawing

Panel framed(const std::string& title, const std::vector<double>& box) {
  return {.title = title,
          .x = {.label = "x1", .low = box[0], .high = box[1]},
          .y = {.label = "x2", .low = box[2], .high = box[3]},
          .series = {}};
}

}  // namespace

Figure picture_figure(const std::string& title,
                      const std::vector<std::pair<std::string, std::vector<double>>>& pictures,
                      uint64_t seed) {
  Figure out{.title = title, .panels = {}, .rows = 2};
  for (const auto& [toy, picture] : pictures) {
    Panel panel = framed(toy + ": data", toy_box(toy, seed));
    Series points{.name = "", .x = {}, .y = {}, .stroke = Stroke::points, .colour = 0};
    const std::vector<float> x = sample_toy(*make_toy(toy), kShown, seed);
    for (size_t i = 0; i < x.size(); i += 2) {
      points.x.push_back(x[i]);
      points.y.push_back(x[i + 1]);
    }
    panel.series.push_back(std::move(points));
    out.panels.push_back(std::move(panel));
  }
  for (const auto& [toy, picture] : pictures) {
    Panel panel = framed(toy + ": learned density", toy_box(toy, seed));
    panel.heat = {.columns = kPictureSide, .rows = kPictureSide, .value = picture};
    out.panels.push_back(std::move(panel));
  }
  return out;
}

}  // namespace selfnorm
