#include "model/energy/conditional_energy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "math/parallel.h"
#include "model/energy/mlp_reference.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Six contexts, of which three have no y; no kink of a relu is within the reach of a difference.
struct Conditional {
  static constexpr uint32_t kContexts = 6;
  explicit Conditional(uint32_t w) : width(w), context(random_vector<float>(size_t{kContexts} * w, 23)) {}

  uint32_t width;
  std::vector<float> context;
  Batch batch;
  std::vector<uint32_t> row = {1, 1, 3, 4};

  ConditionalPoints at() const { return {{context.data(), kContexts, width}, batch.x(), row}; }
};

std::unique_ptr<ConditionalEnergy> conditional(uint32_t dimension, const MlpOptions& options) {
  return make_conditional_mlp(network(dimension, options)->record());
}

// The network whose bias c_1 is c_1 + context.
MlpReference shifted(const MlpOptions& options, std::vector<double> theta, const double* context) {
  const size_t features = kDimension + 2 * options.fourier, width = options.widths[0];
  const size_t bias = size_t{options.fourier} * kDimension + features * width;
  for (size_t j = 0; j < width; ++j) theta[bias + j] += context[j];
  return {options, kDimension, std::move(theta)};
}

// f along y_i + t v_i.
struct Along {
  double value, first, second;
};
Along along(const MlpReference& reference, const Batch& batch, uint64_t i) {
  constexpr double h = 1e-3;
  double s[5];
  for (int k = 0; k < 5; ++k) s[k] = reference.score(batch.point(i, (k - 2) * h));
  return {s[2], (s[0] - 8 * s[1] + 8 * s[3] - s[4]) / (12 * h),
          (-s[0] + 16 * s[1] - 30 * s[2] + 16 * s[3] - s[4]) / (12 * h * h)};
}

// d/d(theta, context) of sum_i g(derivatives of f along v at y_i), by differences of the oracle.
template <class G>
std::vector<double> oracle_gradient(const MlpOptions& options, const ConditionalEnergy& energy,
                                    const Conditional& data, const G& g) {
  std::vector<double> all = doubles(energy.parameters());
  const size_t n = all.size();
  all.insert(all.end(), data.context.begin(), data.context.end());
  return differences(all, 1e-4, [&](const std::vector<double>& t) {
    double sum = 0;
    for (uint64_t i = 0; i < kRows; ++i)
      sum += g(i, along(shifted(options, {t.begin(), t.begin() + static_cast<ptrdiff_t>(n)},
                                &t[n + size_t{data.row[i]} * data.width]),
                        data.batch, i));
    return sum;
  });
}

void expect_energy_gradient(const std::vector<float>& gradient, const std::vector<float>& d_context,
                            const std::vector<double>& expected, double tolerance) {
  for (size_t p = 0; p < expected.size(); ++p) {
    const double found = p < gradient.size() ? static_cast<double>(gradient[p]) - 0.5
                                             : static_cast<double>(d_context[p - gradient.size()]);
    EXPECT_NEAR(found, expected[p], tolerance * std::max(1.0, std::abs(expected[p]))) << "parameter " << p;
  }
}

TEST(ConditionalEnergy, IsTheNetworkWhoseBiasIsTheContext) {
  for (const MlpOptions& options : all_options()) {
    SCOPED_TRACE(name_of(options));
    const Conditional data(options.widths[0]);
    const auto energy = conditional(kDimension, options);
    ASSERT_EQ(energy->context_width(), options.widths[0]);
    std::vector<double> f(kRows), again(kRows), first(kRows), second(kRows);
    std::vector<float> dy(kRows * kDimension);
    energy->score(data.at(), f);
    energy->score_gradient(data.at(), again, dy);
    EXPECT_EQ(f, again);
    energy->directional(data.at(), data.batch.v(), first, second);
    energy->directional(data.at(), data.batch.v(), again, {});
    EXPECT_EQ(first, again);
    for (uint64_t i = 0; i < kRows; ++i) {
      const std::vector<double> context = doubles({&data.context[data.row[i] * data.width], data.width});
      const Along expected =
          along(shifted(options, doubles(energy->parameters()), context.data()), data.batch, i);
      double product = 0;
      for (uint32_t j = 0; j < kDimension; ++j)
        product +=
            static_cast<double>(dy[i * kDimension + j]) * static_cast<double>(data.batch.v().row(i)[j]);
      EXPECT_NEAR(f[i], expected.value, 4e-6 * std::max(1.0, std::abs(f[i])));
      EXPECT_NEAR(product, expected.first, 2e-5 * std::max(1.0, std::abs(expected.first)));
      EXPECT_NEAR(first[i], expected.first, 2e-5 * std::max(1.0, std::abs(expected.first)));
      EXPECT_NEAR(second[i], expected.second, 1e-4 * std::max(1.0, std::abs(expected.second)));
    }
  }
}

TEST(ConditionalEnergy, GradientsOfParametersAndContexts) {
  for (const MlpOptions& options : all_options()) {
    SCOPED_TRACE(name_of(options));
    const Conditional data(options.widths[0]);
    const Batch& batch = data.batch;
    const auto energy = conditional(kDimension, options);
    std::vector<float> gradient(energy->parameters().size(), 0.5f), d_context(data.context.size(), 9.0f);
    const auto pass = energy->make_pass();
    pass->forward(data.at());
    pass->backward(batch.weight, gradient, d_context);
    expect_energy_gradient(
        gradient, d_context,
        oracle_gradient(options, *energy, data,
                        [&](uint64_t i, const Along& f) { return batch.weight[i] * f.value; }),
        3e-5);
    for (const bool has_second : {false, true}) {
      gradient.assign(gradient.size(), 0.5f);
      energy->directional_backward(
          data.at(), batch.v(), batch.weight,
          has_second ? std::span<const double>(batch.second_weight) : std::span<const double>(), gradient,
          d_context);
      expect_energy_gradient(gradient, d_context,
                             oracle_gradient(options, *energy, data,
                                             [&](uint64_t i, const Along& f) {
                                               return batch.weight[i] * f.first +
                                                      (has_second ? batch.second_weight[i] * f.second : 0);
                                             }),
                             2e-4);
    }
  }
}

// Contexts with none, one and very many y.
struct Ragged {
  static constexpr uint32_t kWidth = 40;
  Ragged() {
    const std::vector<size_t> sizes = {0, 1, 700, 0, 0, 64, 33, 33, 33, 1, 2, 130, 500, 0};
    for (size_t r = 0; r < sizes.size(); ++r) row.insert(row.end(), sizes[r], static_cast<uint32_t>(r));
    contexts = static_cast<uint32_t>(sizes.size());
    context = random_vector<float>(size_t{contexts} * kWidth, 31);
    y = random_vector<float>(2 * row.size(), 32);
    v = random_vector<float>(2 * row.size(), 33);
    d = random_vector<double>(row.size(), 34);
    options.widths = {kWidth, 24};
    options.fourier = 5;
    energy = conditional(2, options);
  }
  ConditionalPoints at() const {
    return {{context.data(), contexts, kWidth}, {y.data(), row.size(), 2}, row};
  }

  uint32_t contexts;
  std::vector<uint32_t> row;
  std::vector<float> context, y, v;
  std::vector<double> d;
  MlpOptions options;
  std::unique_ptr<ConditionalEnergy> energy;
};

TEST(ConditionalEnergy, RowsDoNotDependOnTheirBatch) {
  const Ragged data;
  std::vector<double> f(data.row.size());
  data.energy->score(data.at(), f);
  const auto pass = data.energy->make_pass();
  for (const uint64_t size : {data.row.size(), size_t{1}, size_t{702}, data.row.size()}) {
    const std::span<const double> forward =
        pass->forward({data.at().context, data.at().y.slice(0, size), std::span(data.row).first(size)});
    ASSERT_EQ(forward.size(), size);
    EXPECT_TRUE(std::equal(forward.begin(), forward.end(), f.begin())) << size;
  }
  for (const size_t i : {size_t{0}, size_t{700}, data.row.size() - 1}) {
    double alone = 0;
    data.energy->score({data.at().context, data.at().y.slice(i, i + 1), std::span(data.row).subspan(i, 1)},
                       {&alone, 1});
    EXPECT_EQ(alone, f[i]);
  }
}

TEST(ConditionalEnergy, BitsDoNotDependOnThreads) {
  const Ragged data;
  const size_t n = data.row.size();
  const auto results = [&](int threads) {
    const ThreadLimit limit(threads);
    std::vector<double> f(n), first(n), second(n);
    std::vector<float> dy(data.y.size()), d_context(data.context.size()), jet_context(data.context.size()),
        gradient(data.energy->parameters().size());
    data.energy->score_gradient(data.at(), f, dy);
    const Points v{data.v.data(), n, 2};
    data.energy->directional(data.at(), v, first, second);
    data.energy->directional_backward(data.at(), v, data.d, data.d, gradient, jet_context);
    const auto pass = data.energy->make_pass();
    pass->forward(data.at());
    pass->backward(data.d, gradient, d_context);
    return std::tuple(f, first, second, dy, d_context, jet_context, gradient);
  };
  EXPECT_EQ(results(1), results(4));
}

TEST(ConditionalEnergy, ContextsWithoutPointsHaveNoGradientAndTheOthersAddUpToTheBias) {
  const Ragged data;
  std::vector<float> gradient(data.energy->parameters().size()), d_context(data.context.size(), 7.0f);
  const auto pass = data.energy->make_pass();
  pass->forward(data.at());
  pass->backward(data.d, gradient, d_context);
  const size_t bias = 5 * 2 + (2 + 10) * Ragged::kWidth;
  for (size_t j = 0; j < Ragged::kWidth; ++j) {
    double sum = 0;
    for (size_t r = 0; r < data.contexts; ++r) sum += static_cast<double>(d_context[r * Ragged::kWidth + j]);
    EXPECT_NEAR(gradient[bias + j], sum, 1e-4 * std::max(1.0, std::abs(sum)));
    for (const size_t r : {0u, 3u, 4u, 13u}) EXPECT_EQ(d_context[r * Ragged::kWidth + j], 0.0f);
  }
}

TEST(ConditionalEnergy, NoPointsAtAll) {
  const Ragged data;
  const ConditionalPoints none{data.at().context, {nullptr, 0, 2}, {}};
  std::vector<float> gradient(data.energy->parameters().size(), 0.5f), d_context(data.context.size(), 7.0f);
  const auto pass = data.energy->make_pass();
  EXPECT_TRUE(pass->forward(none).empty());
  pass->backward({}, gradient, d_context);
  EXPECT_EQ(gradient, std::vector<float>(gradient.size(), 0.5f));
  EXPECT_EQ(d_context, std::vector<float>(d_context.size(), 0.0f));
  data.energy->score(none, {});
  data.energy->directional_backward(none, {nullptr, 0, 2}, {}, {}, gradient, d_context);
  EXPECT_EQ(gradient, std::vector<float>(gradient.size(), 0.5f));
}

TEST(ConditionalEnergy, StartsAtZeroWithAGradient) {
  const Conditional data(16);
  MlpOptions options;
  options.widths = {16, 8};
  const auto energy = make_conditional_mlp(kDimension, options, 5, true);
  std::vector<float> gradient(energy->parameters().size()), d_context(data.context.size());
  const auto pass = energy->make_pass();
  for (const double f : pass->forward(data.at())) EXPECT_EQ(f, 0.0);
  pass->backward(data.batch.weight, gradient, d_context);
  double square = 0;
  for (const float g : std::span(gradient).last(8)) square += static_cast<double>(g) * static_cast<double>(g);
  EXPECT_GT(square, 0);
}

TEST(ConditionalEnergy, RecordsMakeItAgain) {
  const Ragged data;
  const auto copy = make_conditional_mlp(data.energy->record());
  std::vector<double> f(data.row.size()), again(data.row.size());
  data.energy->score(data.at(), f);
  copy->score(data.at(), again);
  EXPECT_EQ(f, again);
  EnergyRecord damaged = data.energy->record();
  damaged.tensors.pop_back();
  EXPECT_THROW(make_conditional_mlp(damaged), Error);
}

TEST(ConditionalEnergy, RefusesRowsThatAreNone) {
  Conditional data(5);
  MlpOptions options;
  options.widths = {5};
  const auto energy = conditional(kDimension, options);
  std::vector<double> f(kRows);
  energy->score(data.at(), f);
  for (const std::vector<uint32_t>& row :
       {std::vector<uint32_t>{1, 0, 2, 3}, {0, 1, 2, 6}, {0, 1, 2}, {0, 0, 0, 0, 0}}) {
    data.row = row;
    EXPECT_THROW(energy->score(data.at(), f), Bug);
    EXPECT_THROW(energy->make_pass()->forward(data.at()), Bug);
  }
  const Conditional wide(6);
  EXPECT_THROW(energy->score(wide.at(), f), Bug);
}

}  // namespace
}  // namespace selfnorm
