// Synthetic data with a known truth (theory.md 2.4).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/table/frame.h"
#include "math/random.h"

namespace selfnorm {

class OptionTable;

// x_1 = 1; x_j ~ Bernoulli(density) for j = 2 .. features; eta_kj ~ N(0, 1);  y ~ softmax(temperature * eta
// x).
struct GenerateOptions {
  uint64_t rows = 500;       // >= 1
  uint32_t features = 100;   // >= 1
  uint32_t classes = 10;     // >= 2
  double density = 0.03;     // 0 .. 1
  double temperature = 1.0;  // finite, >= 0: multiplies the scores
  uint64_t seed = 1;

  void validate() const;  // throws Error
};
OptionTable generate_option_table(GenerateOptions& options);

struct GeneratedData {
  Dataset data;              // labels "0" .. "K-1", all K of them even when a class has no row
  std::vector<float> truth;  // temperature * eta, row-major classes x features: p(y|x) = softmax(truth x)
};

// The same options give the same bits for any number of threads.
GeneratedData generate(const GenerateOptions& options);

// Regressions with a known density of y given x. z are independent N(0, 1).
//   task1   x ~ U(-3, 3); x < 0: y = sin x + .075 z, with probability .2 -sin x + .075 z;
//           x >= 0: y = exp(.25 z) - 1    (theory.md 4)
//   mixed   x1 ~ N(0, 1); x2 ~ U(-2, 2); x3 ~ Exp(1), missing in a tenth of the rows; group a, b or c with
//           probabilities .5, .3 and .2, missing in a twentieth. With m = x1 + (0, 1.5, -1 or, missing, .5),
//           s = .1 + .2 x3 (missing: .5) and probability sigmoid(2 x2): y = m + s exp(z / 2); else
//           y = m - 1 + s z / 2. Skewed, heteroscedastic and, around x2 = 0, bimodal.
class RegressionTask {
 public:
  virtual ~RegressionTask() = default;

  virtual Frame columns() const = 0;  // without rows: names, kinds and levels of the inputs, then y
  // A row of them: numbers, places of levels; NaN: missing.
  virtual void draw(RandomStream& random, std::span<double> row) const = 0;
  // log p(y|x); -inf where there is none. x: the row without y.
  virtual double log_density(std::span<const double> x, double y) const = 0;
};

std::vector<std::string> regression_task_names();
std::unique_ptr<RegressionTask> make_regression_task(const std::string& name);  // throws for another name

// The same for any number of threads.
Frame sample_regression(const RegressionTask& task, uint64_t rows, uint64_t seed);

// log p(y|x) of every row of a frame that has the columns of the task. Throws DataError when one is not
// there, has another kind or an unknown level.
std::vector<double> regression_log_density(const RegressionTask& task, const Frame& frame);

}  // namespace selfnorm
