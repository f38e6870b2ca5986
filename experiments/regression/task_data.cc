#include "experiments/regression/task_data.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "data/table/frame.h"
#include "data/toy/generate.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr uint64_t kTaskTestSeed = 1'000'000;

const FrameColumn& numeric_column(const Frame& frame, const char* name) {
  const FrameColumn* column = frame.find(name);
  if (column == nullptr || !column->is_numeric)
    throw DataError(frame.file, 1, fmt::format("no column {} of numbers; expected x and y", name));
  return *column;
}

// The rows of `more` after those of `frame`; returns their places.
std::vector<uint64_t> append(const Frame& more, Frame& frame) {
  if (frame.columns.empty()) frame.columns = {{.name = "x"}, {.name = "y"}};
  for (FrameColumn& column : frame.columns) {
    const std::vector<double>& values = numeric_column(more, column.name.c_str()).number;
    column.number.insert(column.number.end(), values.begin(), values.end());
  }
  frame.line.insert(frame.line.end(), more.line.begin(), more.line.end());
  frame.file += (frame.file.empty() ? "" : ", ") + more.file;
  std::vector<uint64_t> out(more.rows);
  std::iota(out.begin(), out.end(), frame.rows);
  frame.rows += more.rows;
  return out;
}

double deviation_of_target(const TaskData& data) {
  const std::vector<double> y = numeric_targets(data.frame, {"y"}, data.train);
  const double n = static_cast<double>(y.size());
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double square = 0;
  for (const double v : y) square += (v - mean) * (v - mean);
  return std::sqrt(square / n);
}

std::string path_of(const ExperimentOptions& options, const char* name) {
  return options.data + "/ebm-1d/" + name;
}

bool are_there(const ExperimentOptions& options, const std::vector<const char*>& names) {
  if (options.data.empty()) return false;
  for (const char* name : names)
    if (!std::filesystem::exists(path_of(options, name))) return false;
  return true;
}

}  // namespace

TaskData read_first_task(const ExperimentOptions& options) {
  const size_t points = options.reduced() ? 128 : 2048;
  TaskData out{.name = "task 1", .x = {-3, 3, points}, .y = {-3, 3, points}};
  if (!are_there(options, {"dataset1_train.csv"})) return out;
  out.train = append(read_frame(path_of(options, "dataset1_train.csv")), out.frame);
  out.test =
      append(sample_regression(*make_regression_task("task1"), options.reduced() ? 200 : 2000, kTaskTestSeed),
             out.frame);
  out.deviation = deviation_of_target(out);
  return out;
}

TaskData read_second_task(const ExperimentOptions& options) {
  TaskData out{.name = "task 2", .x = {0, 1, 1}, .y = {-12.5, 12.5, options.reduced() ? 256u : 8192u}};
  if (!are_there(options, {"dataset2_train.csv", "dataset2_val.csv", "dataset2_test.csv"})) return out;
  out.train = append(read_frame(path_of(options, "dataset2_train.csv")), out.frame);
  out.valid = append(read_frame(path_of(options, "dataset2_val.csv")), out.frame);
  out.test = append(read_frame(path_of(options, "dataset2_test.csv")), out.frame);
  out.deviation = deviation_of_target(out);
  return out;
}

}  // namespace selfnorm
