// A minibatch for the steps of a regressor's objective, without networks of x.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "family/regressor/train/regressor_step.h"
#include "math/parallel.h"
#include "model/energy/mlp.h"
#include "random_data.h"

namespace selfnorm {

inline MixtureShape unbounded(uint32_t dimension, uint32_t components, double broad_scale = 3) {
  MixtureShape shape;
  shape.dimension = dimension;
  shape.components = components;
  shape.least_scale = 0.5;
  shape.broad_scale = broad_scale;
  return shape;
}
inline MixtureShape bounded(std::vector<double> lower, std::vector<double> upper) {
  MixtureShape shape = unbounded(static_cast<uint32_t>(lower.size()), 1);
  shape.lower = std::move(lower);
  shape.upper = std::move(upper);
  return shape;
}

struct RegressorStepProblem {
  RegressorStepProblem(uint64_t rows, const MixtureShape& shape, bool starts_at_zero)
      : n(rows),
        mixture(shape),
        tilt(make_conditional_mlp(make_mlp(shape.dimension, {.widths = {6, 5}}, 3)->record())),
        y(random_vector<float>(n * shape.dimension, 1)),
        parameters(random_vector<float>(n * shape.parameters(), 2)),
        context(random_vector<float>(n * 6, 4)),
        b(n) {
    for (float& w : tilt->parameters().last(5)) w *= starts_at_zero ? 0 : 10;
    tilt->parameters_changed();
  }

  RegressorParts parts() const { return {*tilt, mixture, options}; }
  RegressorStepInput in() const {
    return {{y.data(), n, mixture.shape().dimension},
            {parameters.data(), n, mixture.shape().parameters()},
            {context.data(), n, 6},
            b,
            step};
  }

  struct Result {
    RegressorStepTerms terms;
    std::vector<float> mixture, context, tilt;
    std::vector<double> b;

    double tilt_norm() const {
      double square = 0;
      for (const float g : tilt) square += static_cast<double>(g) * static_cast<double>(g);
      return std::sqrt(square);
    }
  };
  Result operator()(RegressorStep& objective) const {
    Result out{{},
               std::vector<float>(parameters.size()),
               std::vector<float>(context.size()),
               std::vector<float>(tilt->parameters().size()),
               std::vector<double>(n)};
    out.terms = objective(in(), {out.mixture, out.context, out.b, out.tilt});
    return out;
  }

  // The largest difference between the step's derivatives with respect to tilt and context and those by
  // central differences of its loss, over the largest derivative.
  double gradient_error(RegressorStep& objective, float h = 1e-2f) {
    const Result at = (*this)(objective);
    double error = 0, size = 0;
    const auto compare = [&](float& parameter, float derivative) {
      const float before = parameter;
      const auto loss = [&](float moved) {
        parameter = moved;
        tilt->parameters_changed();
        return (*this)(objective).terms.loss;
      };
      const double numeric = (loss(before + h) - loss(before - h)) / (2 * static_cast<double>(h));
      loss(before);
      error = std::max(error, std::abs(numeric - static_cast<double>(derivative)));
      size = std::max(size, std::abs(numeric));
    };
    for (size_t i = 0; i < at.tilt.size(); ++i) compare(tilt->parameters()[i], at.tilt[i]);
    for (size_t i = 0; i < at.context.size(); ++i) compare(context[i], at.context[i]);
    return error / size;
  }

  uint64_t n;
  ConditionalMixture mixture;
  RegressorOptions options;
  std::unique_ptr<ConditionalEnergy> tilt;
  std::vector<float> y, parameters, context;
  std::vector<double> b;
  uint64_t step = 5;
};

// The same bits for any number of threads, other random numbers at another step.
inline void expect_bits_of_the_step(RegressorStepProblem& problem, RegressorStep& step) {
  const auto result = [&](int threads) {
    const ThreadLimit limit(threads);
    return problem(step);
  };
  const auto one = result(1), four = result(4);
  EXPECT_EQ(one.terms.loss, four.terms.loss);
  EXPECT_EQ(one.tilt, four.tilt);
  EXPECT_EQ(one.context, four.context);
  ++problem.step;
  EXPECT_NE(result(1).terms.loss, one.terms.loss);
}

inline bool is_zero(const auto& values) {
  for (const auto v : values)
    if (v != 0) return false;
  return true;
}

}  // namespace selfnorm
