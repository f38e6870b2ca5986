#include "family/classifier/normalize/retrain.h"

#include <gtest/gtest.h>

#include <cmath>

#include "audit/gauge.h"
#include "data/example_source.h"
#include "data/toy/generate.h"
#include "normalizer/class_moments.h"
#include "normalizer/output_stream.h"
#include "random_data.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

struct Instance {
  ModelFile original, start;
  std::unique_ptr<ExampleSource> source, unlabelled;
  std::vector<uint64_t> kept, held;

  explicit Instance(bool sparse) {
    GeneratedData made =
        generate({.rows = 2000, .features = 12, .classes = 6, .density = 0.4, .temperature = 1.5});
    if (!sparse) {
      Features dense;
      dense.is_sparse = false;
      dense.dense = {2000, 12, std::vector<float>(2000 * 12)};
      const SparseMatrix& s = made.data.features.sparse;
      for (uint64_t i = 0; i < 2000; ++i)
        for (uint64_t p = s.begin[i]; p < s.begin[i + 1]; ++p)
          dense.dense.values[i * 12 + s.column[p]] = s.value[p];
      made.data.features = std::move(dense);
    }
    original.input = sparse ? ModelInput::Sparse : ModelInput::Dense;
    original.classes = 6;
    original.features = 12;
    original.weight = made.truth;
    original.bias.assign(6, 0);
    source = make_example_source(made.data);
    made.data.target.assign(2000, Dataset::kNoTarget);
    unlabelled = make_example_source(made.data);
    std::tie(kept, held) = random_split(2000, 0.2, 1);
    start = original;
    GaugeRegression gauge(*source, 12);
    gauge.add(source->block(0, 2000), log_normalizers(original, *source));
    apply_gauge(gauge.fit(), start);
  }

  RetrainResult run(bool labels, const RetrainOptions& options) const {
    const ExampleSource& all = labels ? *source : *unlabelled;
    return retrain(original, start, ExampleSubset(all, kept), ExampleSubset(all, held), options);
  }
  double rms(const ModelFile& model) const {
    double sum = 0;
    const ExampleSubset part(*source, held);
    for (const double a : log_normalizers(model, part)) sum += a * a;
    return std::sqrt(sum / static_cast<double>(held.size()));
  }
};

TEST(Retrain, ReachesDeltaAndReportsWhatItCost) {
  for (const bool sparse : {false, true}) {
    for (const bool labels : {false, true}) {
      const Instance in(sparse);
      const RetrainResult result = in.run(labels, {.delta = 0.1});
      EXPECT_EQ(result.used_labels, labels);
      EXPECT_TRUE(result.reached) << result.reason;
      EXPECT_GT(result.start.rms, 0.2);
      EXPECT_LE(result.chosen.rms, 0.1);
      EXPECT_GT(result.chosen.rms, 0.09);  // no further than asked for
      EXPECT_NEAR(in.rms(result.model), result.chosen.rms, 1e-4);
      EXPECT_NEAR(result.start.loss, 0, 1e-4);
      EXPECT_GT(result.chosen.loss, 0);
      EXPECT_EQ(result.model.log_normalizer, 0);
      if (labels) continue;
      // The loss under a teacher is KL(p_original || p) on the held-out examples.
      const Dataset rows = in.source->gather(in.held);
      const auto p = make_class_scores(in.original, sparse), q = make_class_scores(result.model, sparse);
      EXPECT_NEAR(head_difference(*p, *q, rows.features).kl / static_cast<double>(in.held.size()),
                  result.chosen.loss, 1e-4);
    }
  }
}

TEST(Retrain, StopsAtTheBudget) {
  const Instance in(false);
  const RetrainResult result = in.run(false, {.budget = 0.02});
  EXPECT_TRUE(result.reached) << result.reason;
  EXPECT_LE(result.chosen.loss, 0.02);
  EXPECT_GT(result.chosen.loss, 0.017);
  EXPECT_LT(result.chosen.rms, result.start.rms);
}

TEST(Retrain, WithBothTheBudgetWinsWhenDeltaIsTooDear) {
  const Instance in(false);
  const RetrainResult result = in.run(false, {.delta = 0.001, .budget = 0.02});
  EXPECT_FALSE(result.reached);
  EXPECT_LE(result.chosen.loss, 0.02);
  EXPECT_GT(result.chosen.rms, 0.001);
  EXPECT_NE(result.reason.find("nats buy"), std::string::npos) << result.reason;
}

TEST(Retrain, DoesNothingWhenTheGaugeIsEnough) {
  const Instance in(false);
  const RetrainResult result = in.run(false, {.delta = 5});
  EXPECT_TRUE(result.reached);
  EXPECT_TRUE(result.trade.empty());
  EXPECT_NEAR(result.chosen.rms, in.rms(in.start), 1e-4);
}

TEST(Retrain, TheTradeFallsInRmsAndRisesInLoss) {
  const Instance in(false);
  const RetrainResult result = in.run(false, {.delta = 0.05});
  ASSERT_GE(result.trade.size(), 3u);
  for (size_t i = 1; i < result.trade.size(); ++i) {
    EXPECT_LE(result.trade[i].rms, result.trade[i - 1].rms * 1.02);
    EXPECT_GE(result.trade[i].loss, result.trade[i - 1].loss - 1e-3);
  }
}

TEST(Retrain, RefusesOptionsOutOfRange) {
  const Instance in(false);
  EXPECT_THROW(in.run(false, {}), Error);
  EXPECT_THROW(in.run(false, {.delta = 0}), Error);
  EXPECT_THROW(in.run(false, {.budget = -1}), Error);
}

}  // namespace
}  // namespace selfnorm
