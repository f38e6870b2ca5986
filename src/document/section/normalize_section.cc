#include "document/section/normalize_section.h"

#include <algorithm>
#include <cmath>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint32_t kFirstColour = 3;  // after those of the audit

ReportFigure& histogram_of(ReportSection& section) {
  const auto found = std::ranges::find(section.figures, "log_z_histogram", &ReportFigure::id);
  SELFNORM_CHECK(found != section.figures.end());
  return *found;
}

// The outline of the bars, from 0 to 0.
Series outline(const NormalizationState& state, uint32_t colour) {
  Series out{.name = state.name, .x = {}, .y = {}, .stroke = Stroke::line, .colour = colour};
  const auto add = [&out](double x, double y) {
    out.x.push_back(x);
    out.y.push_back(y);
  };
  const std::vector<HistogramBin>& bins = state.audit->histogram;
  add(bins.front().from, 0);
  for (const HistogramBin& bin : bins) {
    add(bin.from, static_cast<double>(bin.count));
    add(bin.to, static_cast<double>(bin.count));
  }
  add(bins.back().to, 0);
  return out;
}

void widen(const Series& line, Axis& axis) {
  if (axis.low) axis.low = std::min(*axis.low, line.x.front());
  if (axis.high) axis.high = std::max(*axis.high, line.x.back());
}

ReportTable state_table(const std::vector<NormalizationState>& states) {
  const auto all_have = [&states](std::optional<double> NormalizationState::*number) {
    return std::ranges::all_of(states, [number](const auto& s) { return (s.*number).has_value(); });
  };
  const bool has_tokens = all_have(&NormalizationState::rms_per_token);
  const bool has_labels = all_have(&NormalizationState::nll_exact);
  Table table{.caption = "Step by step", .columns = {"state", "mean", "variance", "rms", "largest size"}};
  if (has_tokens) table.columns.push_back("rms a token");
  if (has_labels) table.columns.push_back("NLL, exact");
  for (const NormalizationState& state : states) {
    const LogZStatistics& z = state.audit->log_z;
    std::vector<Cell> row{state.name, z.mean + 0.0, z.std * z.std, z.rms,
                          std::max(std::abs(z.min), std::abs(z.max))};
    if (has_tokens) row.emplace_back(*state.rms_per_token);
    if (has_labels) row.emplace_back(*state.nll_exact);
    table.add(std::move(row));
  }
  return {.id = "normalization_states",
          .look =
              "Exact log Z - c of the held-out inputs after every step: variance and rms should fall, and "
              "the likelihood should stay.",
          .table = std::move(table)};
}

}  // namespace

void add_states(const std::vector<NormalizationState>& states, ReportDocument& document) {
  SELFNORM_CHECK(!states.empty());
  ReportSection& section = document.section("Normalisation");
  ReportFigure& histogram = histogram_of(section);
  Panel& panel = histogram.figure.panels.front();
  for (Series& series : panel.series)
    if (series.stroke == Stroke::bars) series.name = states.back().name;
  for (size_t i = 0; i + 1 < states.size(); ++i) {
    panel.series.push_back(outline(states[i], kFirstColour + static_cast<uint32_t>(i)));
    widen(panel.series.back(), panel.x);
  }
  histogram.look +=
      " Lines are the same inputs at earlier steps; every step has bins of its own width, so compare where "
      "they are and how wide, not how high.";
  section.tables.insert(section.tables.begin(), state_table(states));
}

}  // namespace selfnorm
