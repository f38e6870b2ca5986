// The lines of metrics.jsonl (train/trainer.h: Progress), by what they measured.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace selfnorm {

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

// A last line without its end that is not JSON was cut short by a kill and is left out. Throws Error with
// file and line for other lines that are no objects of numbers with a step.
Metrics read_metrics(const std::string& path);

}  // namespace selfnorm
