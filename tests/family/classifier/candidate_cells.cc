// One step against noise of every kind: its gradient is that of its loss.
#include <gtest/gtest.h>

#include <cmath>

#include "family/classifier/loop.h"
#include "gradient_check.h"
#include "random_data.h"

namespace selfnorm {
namespace {

constexpr uint32_t kFeatures = 5, kClasses = 4;

struct Noise {
  std::string name, sharing;
};
const std::vector<Noise> kNoise{{"unigram", "batch"}, {"unigram", "example"}, {"in-batch", "batch"}};

// A step of minibatch training with the parameters it works on, class-major.
class OneStep {
 public:
  OneStep(const Dataset& data, const TrainOptions& options)
      : data_(data),
        options_(options),
        input_{data_, nullptr, options_, checkpoint_, observer_, kFeatures, kClasses, "adagrad", ""},
        step_(make_candidate_step<double>(input_, data_.examples())) {
    for (uint64_t i = 0; i < data_.examples(); ++i) all_.push_back(i);
  }

  double mean_loss(const std::vector<double>& theta) {
    const LossSum sum = step_->gradient(all_, 3, theta);
    return sum.likelihood / sum.weight;
  }

  // AdaGrad with a huge G0 and its root as rate moves by minus the gradient.
  std::vector<double> gradient(std::vector<double> theta) {
    const std::vector<double> before = theta;
    step_->gradient(all_, 3, theta);
    Adaptive<double> optimiser("adagrad", theta.size(), 1e12);
    step_->update(theta, optimiser, 1e6);
    for (size_t i = 0; i < theta.size(); ++i) theta[i] = before[i] - theta[i];
    return theta;
  }

  double norm() const { return step_->gradient_norm(); }
  double normalizer() const { return step_->centre({}); }

 private:
  Dataset data_;
  TrainOptions options_;
  CheckpointOptions checkpoint_;
  TrainObserver observer_;
  LoopInput input_;
  std::unique_ptr<MinibatchStep<double>> step_;
  std::vector<uint64_t> all_;
};

TrainOptions with(const std::string& objective, const Noise& noise) {
  TrainOptions options;
  options.objective.name = objective;
  options.objective.noise = noise.name;
  options.objective.noise_sharing = noise.sharing;
  options.objective.samples = 6;
  options.objective.normalizer = "zero";
  options.l2 = 0;
  return options;
}

Dataset problem(bool sparse) {
  Dataset data = random_dataset({.rows = 7, .features = kFeatures, .classes = kClasses, .sparse = sparse}, 4);
  data.weight = {1, 2, 0.5f, 1, 0, 3, 1};
  return data;
}

TEST(CandidateGradient, IsThatOfTheLoss) {
  const std::vector<double> theta = random_vector<double>((kFeatures + 1) * kClasses, 2);
  for (const std::string objective : {"nce", "ranking-nce", "is", "snl"}) {
    for (const Noise& noise : kNoise) {
      for (const bool sparse : {false, true}) {
        SCOPED_TRACE(objective + " " + noise.name + " " + noise.sharing + (sparse ? " sparse" : " dense"));
        TrainOptions options = with(objective, noise);
        options.log_carrier = {0.0f, 0.5f, -0.5f, 1.0f};
        options.encoder.dropout = sparse ? 0.2 : 0;
        OneStep step(problem(sparse), options);
        const std::vector<double> gradient = step.gradient(theta);
        double squares = 0;
        for (const double g : gradient) squares += g * g;
        EXPECT_NEAR(step.norm(), std::sqrt(squares), 1e-6);
        expect_gradient([&](const std::vector<double>& at) { return step.mean_loss(at); }, theta, gradient,
                        1e-5, 1e-5);
      }
    }
  }
}

// 1/p of the term where a cell is touched with probability p: its mean over many draws is the whole term.
TEST(CandidateGradient, RegularisationHasTheExpectationOfTheWholeTerm) {
  constexpr int kDraws = 4000;
  const std::vector<double> theta = random_vector<double>((kFeatures + 1) * kClasses, 2);
  for (const Noise& noise : kNoise) {
    TrainOptions options = with("snl", noise);
    options.objective.samples = 2;
    const Dataset data =
        random_dataset({.rows = 40, .features = kFeatures, .classes = kClasses, .sparse = true}, 4);
    const CheckpointOptions checkpoint;
    TrainObserver observer;
    TrainOptions regularised = options;
    regularised.l2 = 1;
    const LoopInput plain_input{data,      nullptr,  options,   checkpoint, observer,
                                kFeatures, kClasses, "adagrad", ""};
    const LoopInput input{data,      nullptr,  regularised, checkpoint, observer,
                          kFeatures, kClasses, "adagrad",   ""};
    const auto plain = make_candidate_step<double>(plain_input, 4),
               whole = make_candidate_step<double>(input, 4);
    std::vector<double> mean(theta.size());
    RandomStream random(9);
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<uint64_t> rows;
      for (int i = 0; i < 4; ++i) rows.push_back(random.below(40));
      std::vector<double> a = theta, b = theta;
      Adaptive<double> first("adagrad", theta.size(), 1e12), second("adagrad", theta.size(), 1e12);
      plain->gradient(rows, static_cast<uint64_t>(draw), theta);
      whole->gradient(rows, static_cast<uint64_t>(draw), theta);
      plain->update(a, first, 1e6);
      whole->update(b, second, 1e6);
      for (size_t i = 0; i < theta.size(); ++i) mean[i] += (a[i] - b[i]) / kDraws;
    }
    for (uint32_t k = 0; k < kClasses; ++k) {
      for (uint32_t j = 0; j < kFeatures; ++j) {
        const size_t i = k * (kFeatures + 1) + j;
        // Independence of feature and class is an approximation.
        EXPECT_NEAR(mean[i] / theta[i], 1, 0.25)
            << noise.name << " " << noise.sharing << " " << k << " " << j;
      }
      EXPECT_NEAR(mean[k * (kFeatures + 1) + kFeatures], 0, 1e-6);
    }
  }
}

// A single example has no noise in its minibatch: nothing to learn from, and nothing breaks.
TEST(CandidateGradient, AMinibatchOfOneWithoutNoiseMovesNothing) {
  for (const std::string objective : {"nce", "ranking-nce", "is", "snl"}) {
    for (const std::string normalizer : {"constant", "linear", "mlp"}) {
      TrainOptions options = with(objective, {"in-batch", "batch"});
      options.objective.normalizer = normalizer;
      const Dataset data = random_dataset({.rows = 1, .features = kFeatures, .classes = kClasses}, 4);
      OneStep step(data, options);
      const double b = step.normalizer();
      const std::vector<double> theta = random_vector<double>((kFeatures + 1) * kClasses, 2);
      EXPECT_EQ(step.mean_loss(theta), 0);
      for (const double g : step.gradient(theta)) EXPECT_EQ(g, 0);
      EXPECT_EQ(step.normalizer(), b);
    }
  }
}

}  // namespace
}  // namespace selfnorm
