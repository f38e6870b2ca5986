#include "data/toy/generate.h"

#include <cmath>
#include <numeric>

#include "base/failure.h"
#include "base/memory.h"
#include "base/option_table.h"
#include "data/input/characters.h"
#include "data/string_index.h"
#include "data/toy/kinds.h"
#include "math/parallel.h"
#include "math/sigmoid.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

// Streams of one seed: 0 for the parameters, 1 + i for row i.
std::vector<float> draw_truth(const GenerateOptions& o) {
  RandomStream random(o.seed, 0);
  std::vector<float> truth(uint64_t{o.classes} * o.features);
  for (float& eta : truth) eta = static_cast<float>(o.temperature * random.normal());
  return truth;
}

// Positions of successes in a Bernoulli sequence: gaps are geometric, floor(log U / log(1 - p)).
std::vector<uint32_t> draw_row(const GenerateOptions& o, RandomStream& random) {
  std::vector<uint32_t> columns{0};
  double log_miss = std::log1p(-o.density);
  for (double j = 1; o.density > 0; j += 1) {
    j += o.density < 1 ? std::floor(std::log1p(-random.uniform()) / log_miss) : 0;
    if (j >= o.features) break;
    columns.push_back(static_cast<uint32_t>(j));
  }
  return columns;
}

// argmax_k of s_k + Gumbel noise is a draw from softmax(s).
uint32_t draw_class(const GenerateOptions& o, const std::vector<float>& truth,
                    const std::vector<uint32_t>& columns, RandomStream& random) {
  uint32_t best = 0;
  double best_score = -INFINITY;
  for (uint32_t k = 0; k < o.classes; ++k) {
    double score = -std::log(-std::log1p(-random.uniform()));
    for (uint32_t j : columns) score += double{truth[uint64_t{k} * o.features + j]};
    if (score > best_score) best_score = score, best = k;
  }
  return best;
}

constexpr size_t kRowsPerBlock = 256;

double log_normal(double y, double mean, double sigma) {
  const double z = (y - mean) / sigma;
  return -kLogRoot - std::log(sigma) - z * z / 2;
}

// Of y = origin + scale exp(sigma z).
double log_lognormal(double y, double origin, double scale, double sigma) {
  if (!(y > origin)) return -INFINITY;
  const double log_ratio = std::log((y - origin) / scale);
  return log_normal(log_ratio, 0, sigma) - log_ratio - std::log(scale);
}

class FirstTask final : public RegressionTask {
 public:
  Frame columns() const override { return {.file = "task1", .columns = {{.name = "x"}, {.name = "y"}}}; }

  void draw(RandomStream& random, std::span<double> row) const override {
    const double x = 6 * random.uniform() - 3;
    const double sign = random.uniform() < kMinor ? -1 : 1, z = random.normal();
    row[0] = x;
    row[1] = x < 0 ? sign * std::sin(x) + kNoise * z : std::expm1(kSpread * z);
  }

  double log_density(std::span<const double> x, double y) const override {
    if (x[0] >= 0) return log_lognormal(y, -1, 1, kSpread);
    LogSumExp sum;
    sum.add(std::log1p(-kMinor) + log_normal(y, std::sin(x[0]), kNoise));
    sum.add(std::log(kMinor) + log_normal(y, -std::sin(x[0]), kNoise));
    return sum.value();
  }

 private:
  static constexpr double kMinor = 0.2, kNoise = 0.075, kSpread = 0.25;
};

class MixedTask final : public RegressionTask {
 public:
  Frame columns() const override {
    Frame frame{.file = "mixed", .columns = {{.name = "x1"}, {.name = "x2"}, {.name = "x3"}}};
    frame.columns.push_back({.name = "group", .is_numeric = false, .levels = {"a", "b", "c"}});
    frame.columns.push_back({.name = "y"});
    return frame;
  }

  void draw(RandomStream& random, std::span<double> row) const override {
    row[0] = random.normal();
    row[1] = 4 * random.uniform() - 2;
    const double x3 = -std::log1p(-random.uniform());
    row[2] = random.uniform() < 0.1 ? NAN : x3;
    const double u = random.uniform();
    row[3] = random.uniform() < 0.05 ? NAN : u < 0.5 ? 0 : u < 0.8 ? 1 : 2;
    const double m = place(row), s = scale(row), z = random.normal();
    const bool is_upper = random.uniform() < sigmoid(2 * row[1]);
    row[4] = is_upper ? m + s * std::exp(kSkew * z) : m - 1 + s / 2 * z;
  }

  double log_density(std::span<const double> x, double y) const override {
    const double m = place(x), s = scale(x);
    LogSumExp sum;
    sum.add(log_lognormal(y, m, s, kSkew) - softplus(-2 * x[1]));
    sum.add(log_normal(y, m - 1, s / 2) - softplus(2 * x[1]));
    return sum.value();
  }

 private:
  static constexpr double kSkew = 0.5;
  static double place(std::span<const double> x) {
    constexpr double kShift[] = {0, 1.5, -1};
    return x[0] + (std::isnan(x[3]) ? 0.5 : kShift[static_cast<size_t>(x[3])]);
  }
  static double scale(std::span<const double> x) { return std::isnan(x[2]) ? 0.5 : 0.1 + 0.2 * x[2]; }
};

// The values of a column as the task numbers them.
std::vector<double> task_values(const Frame& frame, const FrameColumn& as) {
  const FrameColumn* column = frame.find(as.name);
  if (column == nullptr || column->is_numeric != as.is_numeric)
    throw_at(frame.file, 0, "found no {} column {}, which the regression has",
             as.is_numeric ? "numeric" : "categorical", quoted_text(as.name));
  if (as.is_numeric) return column->number;
  const StringIndex known(as.levels);
  std::vector<double> values(frame.rows, NAN);
  for (uint64_t row = 0; row < frame.rows; ++row) {
    if (column->level[row] == kMissingLevel) continue;
    const std::string& text = column->levels[column->level[row]];
    const auto found = known.find(text);
    if (!found)
      throw_at(frame.file, frame.line[row],
               "in column {}: found the level {}, which the regression does not have", quoted_text(as.name),
               quoted_text(text));
    values[row] = *found;
  }
  return values;
}

}  // namespace

OptionTable generate_option_table(GenerateOptions& o) {
  OptionTable table;
  table.add("rows", &o.rows, "Examples, points or rows").at_least(1);
  table.add("features", &o.features, "Features, the first one constant").at_least(1);
  table.add("classes", &o.classes, "Classes").at_least(2);
  table.add("density", &o.density, "Probability that a feature is 1").in(0, 1);
  table.add("temperature", &o.temperature, "Multiplies the true scores").at_least(0);
  table.add("seed", &o.seed, "Seed");
  return table;
}

void GenerateOptions::validate() const {
  GenerateOptions copy = *this;
  generate_option_table(copy).validate();
  if (features == 0xFFFFFFFFu) throw Error("too many features: expected at most 2^32 - 2");
}

GeneratedData generate(const GenerateOptions& options) {
  options.validate();
  const double truth = 4.0 * options.classes * options.features;
  const double rows = static_cast<double>(options.rows) * (40 + 12 * options.density * options.features);
  require_memory(
      truth + rows,
      fmt::format("{} rows and {} classes x {} features", options.rows, options.classes, options.features),
      "ask for fewer, or a smaller density");
  GeneratedData out;
  out.truth = draw_truth(options);
  std::vector<std::vector<uint32_t>> row(options.rows);
  std::vector<uint32_t> target(options.rows);
  parallel_ranges(options.rows, 64, [&](size_t begin, size_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      RandomStream random(options.seed, 1 + i);
      row[i] = draw_row(options, random);
      target[i] = draw_class(options, out.truth, row[i], random);
    }
  });
  out.data.target = std::move(target);
  SparseMatrix& x = out.data.features.sparse;
  x.columns = options.features;
  for (const auto& columns : row) {
    x.column.append(columns);
    x.begin.push_back(x.column.size());
  }
  x.value.assign(x.column.size(), 1.0f);
  for (uint32_t k = 0; k < options.classes; ++k) out.data.labels.push_back(std::to_string(k));
  return out;
}

std::vector<std::string> regression_task_names() { return {"task1", "mixed"}; }

std::unique_ptr<RegressionTask> make_regression_task(const std::string& name) {
  require_one_of("regression", name, regression_task_names());
  if (name == "task1") return std::make_unique<FirstTask>();
  return std::make_unique<MixedTask>();
}

Frame sample_regression(const RegressionTask& task, uint64_t rows, uint64_t seed) {
  Frame frame = task.columns();
  const size_t width = frame.columns.size();
  require_memory(16.0 * static_cast<double>(rows) * static_cast<double>(width + 1),
                 fmt::format("{} rows of {} columns", rows, width), "ask for fewer");
  std::vector<double> values(rows * width);
  parallel_ranges(rows, kRowsPerBlock, [&](size_t begin, size_t end) {
    RandomStream random(seed, begin / kRowsPerBlock);
    for (size_t i = begin; i < end; ++i) task.draw(random, std::span(values).subspan(i * width, width));
  });
  frame.rows = rows;
  frame.line.resize(rows);
  std::iota(frame.line.begin(), frame.line.end(), uint64_t{2});
  for (size_t c = 0; c < width; ++c) {
    FrameColumn& column = frame.columns[c];
    for (uint64_t i = 0; i < rows; ++i) {
      const double value = values[i * width + c];
      if (column.is_numeric)
        column.number.push_back(value);
      else
        column.level.push_back(std::isnan(value) ? kMissingLevel : static_cast<uint32_t>(value));
    }
  }
  return frame;
}

std::vector<double> regression_log_density(const RegressionTask& task, const Frame& frame) {
  const Frame as = task.columns();
  std::vector<std::vector<double>> columns;
  for (size_t c = 0; c + 1 < as.columns.size(); ++c) columns.push_back(task_values(frame, as.columns[c]));
  std::vector<uint64_t> rows(frame.rows);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  const std::vector<double> y = numeric_targets(frame, {as.columns.back().name}, rows);
  std::vector<double> out(frame.rows);
  parallel_ranges(frame.rows, kRowsPerBlock, [&](size_t begin, size_t end) {
    std::vector<double> x(columns.size());
    for (size_t i = begin; i < end; ++i) {
      for (size_t c = 0; c < x.size(); ++c) x[c] = columns[c][i];
      out[i] = task.log_density(x, y[i]);
    }
  });
  return out;
}

}  // namespace selfnorm
