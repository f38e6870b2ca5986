#include "family/classifier/network/network_trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "family/classifier/network/bag_problem.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

TrainOptions network_options(const std::string& objective) {
  TrainOptions options;
  options.objective.name = objective;
  options.encoder.kind = "bag";
  options.encoder.dimension = 10;
  options.l2 = 0;
  options.epochs = 200;
  options.learning_rate = 0.3;
  options.batch = 50;
  return options;
}

TrainResult train(const Dataset& data, const Dataset* valid, const TrainOptions& options) {
  TrainObserver quiet;
  const BagFeed feed(data);
  if (valid == nullptr) return train_network(feed, nullptr, bag_plan(), options, {}, quiet);
  const BagFeed valid_feed(*valid);
  return train_network(feed, &valid_feed, bag_plan(), options, {}, quiet);
}

NetworkQuality quality(const ModelFile& model, const Dataset& data) {
  return network_quality(model, all_examples(BagFeed(data)));
}

double linear_optimum(const Dataset& data) {
  TrainOptions options;
  options.objective.name = "exact";
  options.optimiser = "lbfgs";
  options.l2 = 0;
  options.tolerance = 1e-6;
  TrainObserver quiet;
  return *train_classifier(data, std::nullopt, options, {}, quiet).last.nll;
}

// Above the maximum likelihood of the linear model, in nats. Objectives that hold log Z pay for it, a tree is
// another family of models, and `sampled` is normalised for a tenth of the examples.
struct Expected {
  const char* objective;
  double excess;
};

TEST(NetworkTrainer, ReachesTheLinearModelsLikelihood) {
  const Dataset data = bag_data(800, 2);
  const double best = linear_optimum(data);
  for (const Expected& expected :
       {Expected{"exact", 0.002}, Expected{"ranking-nce", 0.003}, Expected{"is", 0.003},
        Expected{"penalty", 0.004}, Expected{"nce", 0.006}, Expected{"snl", 0.006}, Expected{"sampled", 0.03},
        Expected{"hierarchical", 0.03}}) {
    const TrainResult result = train(data, nullptr, network_options(expected.objective));
    const NetworkQuality q = quality(result.model, data);
    EXPECT_LT(q.nll, best + expected.excess) << expected.objective;
    const bool is_linear = expected.objective != std::string("hierarchical");
    EXPECT_TRUE(!is_linear || q.nll > best - 1e-4) << expected.objective;
    EXPECT_EQ(result.reason, "completed 200 epochs");
    EXPECT_EQ(result.last.step, 200u * 16);
  }
}

TEST(NetworkTrainer, EveryNoiseAndNormalizerComesNear) {
  const Dataset data = bag_data(800, 2);
  const double best = linear_optimum(data);
  for (const std::string name : {"nce", "snl"}) {
    for (const char* noise : {"uniform", "in-batch", "log-uniform"}) {
      for (const char* normalizer : {"zero", "mlp"}) {
        TrainOptions options = network_options(name);
        options.epochs = 100;
        options.objective.noise = noise;
        options.objective.normalizer = normalizer;
        options.objective.noise_sharing = name == "nce" ? "example" : "batch";
        options.objective.samples = 30;
        const ModelFile model = train(data, nullptr, options).model;
        const NetworkQuality q = quality(model, data);
        EXPECT_LT(q.nll, best + 0.03) << name << " " << noise << " " << normalizer;
        EXPECT_NEAR(q.log_z, model.log_normalizer, 0.05) << name << " " << noise << " " << normalizer;
      }
    }
  }
}

// c (b) of what is stored is the mean of log Z on the validation data; without any, of the training data for
// the objectives that leave the level free.
TEST(NetworkTrainer, CalibratesTheLevel) {
  const Dataset data = bag_data(300, 2), valid = bag_data(100, 3);
  for (const std::string name : {"penalty", "sampled", "nce", "ranking-nce", "is", "snl"}) {
    TrainOptions options = network_options(name);
    options.epochs = 5;
    options.objective.normalizer = "mlp";
    const ModelFile model = train(data, &valid, options).model;
    EXPECT_NEAR(quality(model, valid).log_z, model.log_normalizer, 1e-6) << name;
    options.calibrate = false;
    const ModelFile alone = train(data, nullptr, options).model;
    const bool is_free = name == "ranking-nce" || name == "is" || name == "sampled";
    const double off = quality(alone, data).log_z - alone.log_normalizer;
    EXPECT_EQ(std::abs(off) < 1e-6, is_free) << name << " " << off;
    EXPECT_TRUE(name != "penalty" || alone.log_normalizer == 0);
  }
}

TEST(NetworkTrainer, ATreesProbabilitiesSumToOne) {
  const Dataset data = bag_data(300, 2);
  TrainOptions options = network_options("hierarchical");
  options.epochs = 5;
  const ModelFile model = train(data, nullptr, options).model;
  EXPECT_EQ(model.log_normalizer, 0);
  for (uint64_t i = 0; i < 5; ++i) {
    double total = 0;
    ExampleBatch one;
    BagFeed(data).gather(std::vector<uint64_t>{i}, one);
    for (uint32_t k = 0; k < kBagClasses; ++k) {
      one.target = {k};
      total += std::exp(-network_quality(model, one).nll);
    }
    EXPECT_NEAR(total, 1, 1e-9);
  }
}

// The next word is the sum of the last two modulo 5: no sum of functions of one word, so the hidden layer is
// needed.
class SumFeed final : public ExampleFeed {
 public:
  uint64_t examples() const override { return 25; }
  std::vector<uint64_t> class_counts() const override { return std::vector<uint64_t>(5, 5); }
  void gather(std::span<const uint64_t> examples, ExampleBatch& out) const override {
    out = {};
    for (const uint64_t i : examples) {
      const auto a = static_cast<uint32_t>(i / 5), b = static_cast<uint32_t>(i % 5);
      out.rows.id.insert(out.rows.id.end(), {a, b});
      out.rows.begin.push_back(out.rows.id.size());
      out.target.push_back((a + b) % 5);
    }
  }
  std::string fingerprint() const override { return "sums"; }
};

TEST(NetworkTrainer, AHiddenLayerLearnsWhatNoSumDoes) {
  const SumFeed feed;
  for (const std::string name : {"exact", "hierarchical", "snl"}) {
    TrainOptions options = network_options(name);
    options.encoder.kind = "context";
    options.encoder.hidden = 64;
    options.batch = 25;
    options.epochs = 300;
    options.learning_rate = 0.1;
    EncoderPlan plan;
    plan.kind = EncoderKind::Context;
    plan.positions = 2;
    plan.inputs = plan.classes = 5;
    TrainObserver quiet;
    const ModelFile model = train_network(feed, nullptr, plan, options, {}, quiet).model;
    EXPECT_LT(network_quality(model, all_examples(feed)).nll, 0.1) << name;
  }
}

// Validation on other labels than those learned gets worse with every epoch.
TEST(NetworkTrainer, PatienceStops) {
  const Dataset data = bag_data(300, 2);
  Dataset valid = bag_data(100, 3);
  for (uint32_t& y : valid.target.own()) y = (y + 7) % kBagClasses;
  TrainOptions options = network_options("exact");
  options.patience = 2;
  const TrainResult result = train(data, &valid, options);
  EXPECT_EQ(result.reason, "validation did not improve in 2 epochs");
  EXPECT_LT(result.last.epoch, 20u);
  EXPECT_FALSE(result.interrupted || result.diverged);
  EXPECT_LT(quality(result.model, valid).nll, *result.last.valid_nll);
}

TEST(NetworkTrainer, BytesAreAtLeastTheParameters) {
  EncoderPlan plan = bag_plan();
  plan.inputs = 1000;
  plan.classes = 50'000;
  for (const uint32_t hidden : {0u, 30u}) {
    TrainOptions options = network_options("snl");
    options.encoder.hidden = hidden;
    const double states = hidden > 0 ? 30 : 10;
    const double parameters = 1000 * 10 + 50'000 * (states + 1) + hidden * (10 + 1);
    EXPECT_GE(network_bytes(plan, options),
              2 * 4 * parameters);     // and a copy of the best, or of the last good ones
    options.objective.name = "exact";  // the scores of a minibatch
    EXPECT_GE(network_bytes(plan, options), 4 * (2 * parameters + 50.0 * 50'000));
  }
}

std::string error_of(const Dataset& data, const TrainOptions& options) {
  try {
    TrainObserver quiet;
    EncoderPlan plan = bag_plan();
    plan.classes = data.classes();
    train_network(BagFeed(data), nullptr, plan, options, {}, quiet);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(NetworkTrainer, SaysWhatItCannotDo) {
  const Dataset data = bag_data(30, 2);
  TrainOptions options = network_options("exact");
  options.epochs = 1;
  EXPECT_EQ(error_of(data, options), "");
  const auto with = [&](auto change) {
    TrainOptions changed = options;
    change(changed);
    return error_of(data, changed);
  };
  EXPECT_NE(with([](TrainOptions& o) { o.objective.name = "constraint"; }).find("constraint"),
            std::string::npos);
  EXPECT_NE(with([](TrainOptions& o) { o.precision = "double"; }).find("arithmetic"), std::string::npos);
  EXPECT_NE(with([](TrainOptions& o) { o.l1 = 0.1; }).find("l1"), std::string::npos);
  EXPECT_NE(with([](TrainOptions& o) { o.optimiser = "lbfgs"; }).find("lbfgs"), std::string::npos);
  EXPECT_NE(with([](TrainOptions& o) { o.optimiser = "adam"; }).find("adam"), std::string::npos);
  EXPECT_NE(with([](TrainOptions& o) { o.encoder.dropout = 1; }).find("dropout"), std::string::npos);
  EXPECT_NE(with([](TrainOptions& o) { o.log_carrier = {1, 2}; }).find("2 values for 20"), std::string::npos);
  EXPECT_NE(with([](TrainOptions& o) {
              o.objective.name = "hierarchical";
              o.log_carrier.assign(kBagClasses, 1.0f);
            }).find("carrier"),
            std::string::npos);
}

TEST(NetworkTrainer, SaysWhatTheDataLack) {
  TrainOptions options = network_options("exact");
  options.epochs = 1;
  EXPECT_NE(error_of(bag_data(0, 2), options).find("no examples"), std::string::npos);
  Dataset one = bag_data(10, 2);
  one.labels = one.labels.first(1);
  one.target.assign(10, 0);
  EXPECT_NE(error_of(one, options).find("1 class"), std::string::npos);
  Dataset weightless = bag_data(10, 2);
  weightless.weight.assign(10, 0);
  EXPECT_NE(error_of(weightless, options).find("sum to 0"), std::string::npos);
}

}  // namespace
}  // namespace selfnorm
