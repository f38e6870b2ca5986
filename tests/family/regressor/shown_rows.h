// y ~ N(10 + 8 x, 2^2) as a regressor, and rows of it.
#pragma once

#include <vector>

#include "family/regressor/regression_pictures.h"
#include "small_regressors.h"

namespace selfnorm::test {

struct LineRows {
  Regressor model = linear_gaussian();
  Frame frame{.file = "line.csv", .rows = 0};
  EncodedFrame inputs;
  std::vector<double> target;

  explicit LineRows(uint64_t rows) {
    frame.rows = rows;
    FrameColumn x{.name = "x"}, y{.name = "y"};
    RandomStream random(11);
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i < rows; ++i) {
      all.push_back(i);
      frame.line.push_back(i + 2);
      x.number.push_back(2 * random.uniform() - 1);
      y.number.push_back(10 + 8 * x.number.back() + 2 * random.normal());
    }
    target = y.number;
    frame.columns = {x, y};
    std::vector<std::string> notes;
    model.encoder = FrameEncoder(frame, all, {"y"}, false, notes);
    EncodingReport report;
    inputs = model.encoder.encode(frame, report);
  }

  ShownRows shown() const { return {model, frame, inputs, target}; }
  ShownRows without_targets() const { return {model, frame, inputs, {}}; }
  RegressionEvaluation evaluation() const { return evaluate_regressor(model, inputs.view(), target, {}); }
};

}  // namespace selfnorm::test
