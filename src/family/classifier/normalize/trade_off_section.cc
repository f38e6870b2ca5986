#include "family/classifier/normalize/trade_off_section.h"

#include <fmt/format.h>

#include <algorithm>

namespace selfnorm {
namespace {

constexpr uint32_t kPathColour = 0, kOwn = 1, kConcavity = 2, kProposition3 = 3;

Series empty_series(std::string name, Stroke stroke, uint32_t colour) {
  return {.name = std::move(name), .x = {}, .y = {}, .stroke = stroke, .colour = colour};
}

void add_point(double rms, double loss, std::string label, Series& series) {
  if (!(rms > 0)) return;  // the axis is logarithmic
  series.x.push_back(rms);
  series.y.push_back(loss);
  series.labels.push_back(std::move(label));
}

void add_figure(std::string title, std::string across, std::vector<Series> series, std::string look,
                ReportDocument& document) {
  std::erase_if(series, [](const Series& s) { return s.x.empty(); });
  Panel panel{.title = "",
              .x = {.label = std::move(across), .logarithmic = true},
              .y = {.label = "nats per example lost, exact"},
              .series = std::move(series)};
  document.section("Normalisation")
      .figures.push_back({.id = "trade_off",
                          .look = std::move(look),
                          .figure = {.title = std::move(title), .panels = {std::move(panel)}}});
}

}  // namespace

void add_trade_off(const TradeOff& t, ReportDocument& document) {
  Series path = empty_series("this model with its scores scaled down", Stroke::line_points, kPathColour);
  for (const ScaledModel& p : t.path)
    add_point(p.rms, p.loss, fmt::format("scores times {:.3g}", p.scale), path);
  Series concavity = empty_series("Theorem 2 (concavity form)", Stroke::dashed, kConcavity);
  Series third = empty_series("Proposition 3 (slope added)", Stroke::dashed, kProposition3);
  for (const TheoryBound& b : t.bounds) {
    concavity.x.push_back(b.delta);
    concavity.y.push_back(b.concavity);
    if (b.proposition3 > t.uniform) continue;
    third.x.push_back(b.delta);
    third.y.push_back(b.proposition3);
  }
  Series own = empty_series("this model as it is", Stroke::marks, kOwn);
  add_point(t.rms, 0, "rms(log Z - c) of raw scores", own);
  add_figure(fmt::format("What normalisation can cost, on {} examples", t.examples),
             "rms(log Z - m) allowed, nats",
             {std::move(path), std::move(concavity), std::move(third), std::move(own)},
             "Upper bounds of the likelihood that the best model within an rms loses against this one, lower "
             "is better: the path is attained by scaling, dashed bounds follow from theory, and a mark to "
             "the left of the path is a model that training normalised better than scaling could.",
             document);
}

void add_trade_off(const RetrainResult& r, ReportDocument& document) {
  Series path = empty_series("retrained", Stroke::line_points, kPathColour);
  std::vector<TradePoint> points = r.trade;
  points.push_back(r.start);
  std::ranges::stable_sort(points, {}, &TradePoint::rms);
  for (const TradePoint& p : points) add_point(p.rms, p.loss, fmt::format("alpha {:.4g}", p.alpha), path);
  Series start = empty_series("lossless, where it started", Stroke::marks, kConcavity);
  add_point(r.start.rms, r.start.loss, "alpha 0", start);
  Series chosen = empty_series("chosen", Stroke::marks, kOwn);
  add_point(r.chosen.rms, r.chosen.loss,
            fmt::format("alpha {:.4g}{}", r.chosen.alpha,
                        r.chosen.is_interpolated ? ", between two solutions" : ""),
            chosen);
  add_figure("What retraining cost, on the states that chose", "rms(log Z - c) after retraining, nats",
             {std::move(path), std::move(start), std::move(chosen)},
             fmt::format("How much likelihood a smaller log Z costs, by {}: lower and further left is "
                         "better, and the chosen point should lie before the curve turns up.",
                         r.used_labels ? "the labels" : "KL from the head as it was"),
             document);
}

}  // namespace selfnorm
