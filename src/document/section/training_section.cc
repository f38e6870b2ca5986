#include "document/section/training_section.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "base/json_text.h"
#include "document/point_cloud.h"

namespace selfnorm {
namespace {

constexpr double kInterruption = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kFewPoints = 60;  // each of which is marked
constexpr uint32_t kTraining = 0, kValidation = 1, kTrainingEstimate = 2, kValidationEstimate = 3,
                   kLowest = 4;

// The lines of metrics.jsonl (engine/engine.h: Progress), by what they measured.
struct MetricsLine {
  double step = 0;
  double epoch = 0;  // from 0; constraint: solve
  double alpha = 0;
};

// What was measured, on the lines that have it; NaN: it was not finite.
struct MetricsCurve {
  std::vector<size_t> line;
  std::vector<double> value;
};

struct Metrics {
  std::vector<MetricsLine> lines;
  std::map<std::string, MetricsCurve> curves;  // by key; every number but step, epoch, seconds
};

[[noreturn]] void fail_metrics(const std::string& where, const std::string& what) {
  throw_error("{}: {}; expected one JSON object a line, as training writes them", where, what);
}

double metric(const nlohmann::json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  if (found->is_null()) return kInterruption;
  if (!found->is_number()) fail_metrics(where, fmt::format("\"{}\" is no number", key));
  return found->get<double>();
}

void add_metrics_line(const nlohmann::json& object, const std::string& where, Metrics& metrics) {
  if (!object.contains("step")) fail_metrics(where, "found no \"step\"");
  const size_t at = metrics.lines.size();
  metrics.lines.push_back(
      {metric(object, "step", where), metric(object, "epoch", where), metric(object, "alpha", where)});
  for (const auto& [key, value] : object.items()) {
    if (key == "step" || key == "epoch" || key == "seconds") continue;
    if (!value.is_number() && !value.is_null()) fail_metrics(where, fmt::format("\"{}\" is no number", key));
    MetricsCurve& curve = metrics.curves[key];
    curve.line.push_back(at);
    curve.value.push_back(value.is_null() ? kInterruption : value.get<double>());
  }
}

// A last line without its end that is not JSON was cut short by a kill and is left out. Throws Error with
// file and line for other lines that are no objects of numbers with a step.
Metrics read_metrics(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_error("cannot read {}; expected the metrics of a training run", path);
  Metrics metrics;
  size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    const bool is_cut = file.eof();
    const std::string where = fmt::format("{}:{}", path, ++count);
    const nlohmann::json object = bounded_json<nlohmann::json>(line);
    if (!object.is_object() && is_cut) break;
    if (!object.is_object()) fail_metrics(where, "found something else than a JSON object");
    add_metrics_line(object, where, metrics);
  }
  return metrics;
}

// What a line of metrics belongs to. Solves: of the search for the multiplier of a constraint, each with its
// own alpha. Members: of an ensemble, each with its own epochs.
class Course {
 public:
  explicit Course(const Metrics& metrics) : metrics_(metrics) {
    const auto& lines = metrics.lines;
    for (const MetricsLine& line : lines) {
      has_solves_ = has_solves_ || line.alpha != lines.front().alpha;
      has_epochs_ = has_epochs_ || line.epoch != lines.front().epoch;
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool is_next =
          i > 0 && (has_solves_ ? lines[i].epoch != lines[i - 1].epoch : lines[i].epoch < lines[i - 1].epoch);
      part_.push_back(i == 0 ? 0 : part_.back() + (is_next ? 1 : 0));
    }
  }

  bool has_solves() const { return has_solves_; }
  bool has_parts() const { return part_.back() > 0; }

  // Lines of different parts are not joined.
  Series series(const std::string& key, std::string name, uint32_t colour) const {
    Series out{.name = std::move(name), .x = {}, .y = {}, .stroke = Stroke::line, .colour = colour};
    const auto found = metrics_.curves.find(key);
    if (found == metrics_.curves.end()) return out;
    const MetricsCurve& curve = found->second;
    for (size_t i = 0; i < curve.line.size(); ++i) {
      const size_t at = curve.line[i];
      if (i > 0 && part_[at] != part_[curve.line[i - 1]]) add(out, at, kInterruption);
      add(out, at, curve.value[i]);
    }
    if (out.x.size() <= kFewPoints) out.stroke = Stroke::line_points;
    return thinned(std::move(out));
  }

  // Every solve with its alpha and the rms of log Z that it came to.
  Series solves() const {
    Series out{.name = "alpha", .x = {}, .y = {}, .stroke = Stroke::line_points, .colour = kTraining};
    const auto rms = metrics_.curves.find("log_z_rms");
    for (size_t i = 0; i < part_.size(); ++i) {
      if (i + 1 < part_.size() && part_[i + 1] == part_[i]) continue;
      out.x.push_back(static_cast<double>(part_[i]) + 1);
      out.y.push_back(metrics_.lines[i].alpha);
      std::string label = fmt::format("solve {}", part_[i] + 1);
      if (rms != metrics_.curves.end()) {
        const auto place = std::ranges::lower_bound(rms->second.line, i);
        if (place != rms->second.line.end() && *place == i)
          label += fmt::format(", rms(log Z - c) {:.4g} at its end",
                               rms->second.value[static_cast<size_t>(place - rms->second.line.begin())]);
      }
      out.labels.push_back(std::move(label));
    }
    return out;
  }

 private:
  void add(Series& out, size_t at, double value) const {
    out.x.push_back(metrics_.lines[at].step);
    out.y.push_back(value);
    if (has_epochs_ || has_solves_) out.labels.push_back(label(at));
  }

  std::string label(size_t at) const {
    const MetricsLine& line = metrics_.lines[at];
    if (has_solves_)
      return fmt::format("step {:.0f}, solve {}, alpha {:.4g}", line.step, part_[at] + 1, line.alpha);
    const std::string member = part_.back() > 0 ? fmt::format("member {}, ", part_[at] + 1) : "";
    return fmt::format("step {:.0f}, {}epoch {:.0f}", line.step, member, line.epoch + 1);
  }

  const Metrics& metrics_;
  bool has_solves_ = false, has_epochs_ = false;
  std::vector<size_t> part_;
};

bool has_points(const Series& s) {
  return std::ranges::any_of(s.y, [](double y) { return std::isfinite(y); });
}
bool is_zero(const Series& s) {
  return std::ranges::none_of(s.y, [](double y) { return std::isfinite(y) && y != 0; });
}

// A figure has one panel, so that those of different objectives can be overlaid; without points, none.
void add_figure(ReportDocument& document, const char* id, std::string title, std::string unit,
                std::vector<Series> series, std::string look, std::string across = "step") {
  std::erase_if(series, [](const Series& s) { return !has_points(s); });
  if (series.empty()) return;
  Panel panel{.title = "",
              .x = {.label = std::move(across)},
              .y = {.label = std::move(unit)},
              .series = std::move(series)};
  document.section("Training")
      .figures.push_back({.id = id,
                          .look = std::move(look),
                          .figure = {.title = std::move(title), .panels = {std::move(panel)}}});
}

// Where the curve of a run is lowest; nothing of runs in several parts, which have several.
Series lowest_point(const Course& course, const Series& curve) {
  Series out{.name = "lowest validation", .x = {}, .y = {}, .stroke = Stroke::marks, .colour = kLowest};
  if (course.has_parts() || !has_points(curve)) return out;
  const auto worth = [](double y) { return std::isfinite(y) ? y : std::numeric_limits<double>::infinity(); };
  const auto at = static_cast<size_t>(std::ranges::min_element(curve.y, {}, worth) - curve.y.begin());
  out.x = {curve.x[at]};
  out.y = {curve.y[at]};
  out.labels = {fmt::format("step {:.0f}", curve.x[at])};
  return out;
}

void add_losses(const Course& course, ReportDocument& document) {
  add_figure(document, "loss", "Training loss", "loss, on the scale of the objective",
             {course.series("loss", "training loss", kTraining)},
             "It should fall and level off; only losses of the same objective can be compared.");
  std::vector<Series> nll{course.series("nll", "training, exact", kTraining),
                          course.series("valid_nll", "validation, exact", kValidation),
                          course.series("nll_estimate", "training, estimate", kTrainingEstimate),
                          course.series("valid_nll_estimate", "validation, estimate", kValidationEstimate)};
  const bool has_estimates = has_points(nll[2]) || has_points(nll[3]);
  nll.push_back(lowest_point(course, has_points(nll[1]) ? nll[1] : nll[3]));
  add_figure(document, "training_nll", "Negative log-likelihood in training", "nats per example",
             std::move(nll),
             fmt::format("Lower is better, and a validation curve that turns up while training still falls "
                         "is over-fitting; {}.",
                         has_estimates ? "estimates are with log Z estimated from draws of the proposal"
                                       : "exact is with log Z summed or integrated"));
}

void add_penalties(const Course& course, ReportDocument& document) {
  Series penalty = course.series("penalty", "penalty", kTraining);
  if (!is_zero(penalty))
    add_figure(document, "penalty", "Penalty in training, alpha (log Z - c)^2", "nats per example",
               {std::move(penalty)},
               "What is paid for normalisation beside the likelihood: small and level is good.");
  Series regulariser = course.series("regulariser", "regulariser", kTraining);
  if (!is_zero(regulariser))
    add_figure(document, "regulariser", "Regulariser in training", "nats per example",
               {std::move(regulariser)},
               "What is paid for the size of the weights beside the likelihood: it should level off, small "
               "beside the likelihood.");
  if (course.has_solves())
    add_figure(document, "alpha", "Alpha, the price of the constraint", "alpha", {course.solves()},
               "It should settle, where rms(log Z - c), shown at every solve, has come to the bound.",
               "solve");
}

void add_normalizers(const Course& course, ReportDocument& document) {
  add_figure(document, "training_log_z", "Root mean square of log Z - c in training", "nats",
             {course.series("log_z_rms", "training, exact", kTraining),
              course.series("valid_log_z_rms", "validation, exact", kValidation)},
             "Small is good: raw scores are then log-probabilities; training data are measured with the c of "
             "the moment, validation data with the one that would be stored.");
  Series b = course.series("log_normalizer", "b", kTraining);
  const bool has_b = has_points(b);
  add_figure(document, "training_b", "b in training", "nats", {std::move(b)},
             "b is the log Z that the model learns by itself: it should move at first and then settle.");
  add_figure(
      document, "log_ratio", has_b ? "log r = log Z - b in training" : "log Z in training",
      has_b ? "log r, nats" : "log Z, nats",
      {course.series("log_ratio", "estimate from noise samples", kTraining)},
      has_b ? "It should stay near 0, where b is right; r far above 1 is the one instability of training "
              "with b."
            : "There is no b that it is compared with, so any level will do, but it should not run away.");
  add_figure(document, "effective_samples", "Effective samples in training", "samples",
             {course.series("effective_samples", "effective samples", kTraining)},
             "How many equal samples the weighted ones are worth, (sum w)^2 / sum w^2: near the number drawn "
             "is good; with a few only, estimates of log Z mean little.");
}

}  // namespace

void add_training(const std::string& metrics_path, ReportDocument& document) {
  const Metrics metrics = read_metrics(metrics_path);
  if (metrics.lines.empty()) return;
  const Course course(metrics);
  add_losses(course, document);
  add_penalties(course, document);
  add_normalizers(course, document);
}

}  // namespace selfnorm
