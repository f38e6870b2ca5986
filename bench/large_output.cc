// What an example costs when the number of classes grows: a bag of 10 words, dimension 100, 100 noise
// classes, targets with Zipf's frequencies over K classes, at K = 10,000 and K = 1,000,000. The peer is the
// same program at the smaller K; the promise is a ratio of at most 1.5. The first fifth of a run is not
// counted. Reproduce: bench_large_output
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "family/classifier/network/network_trainer.h"
#include "measure.h"

namespace {

using namespace selfnorm;

constexpr uint32_t kInputs = 100'000, kWords = 10;
constexpr uint64_t kExamples = 400'000;
constexpr double kTarget = 1.5;

// Rank r with probability about 1 / r.
uint32_t zipf(RandomStream& random, uint32_t n) {
  return std::min(n - 1, static_cast<uint32_t>(std::pow(static_cast<double>(n), random.uniform())) - 1);
}

class SyntheticText final : public ExampleFeed {
 public:
  explicit SyntheticText(uint32_t classes) : classes_(classes) {}

  uint64_t examples() const override { return kExamples; }
  std::vector<uint64_t> class_counts() const override {
    std::vector<uint64_t> counts(classes_);
    for (uint32_t k = 0; k < classes_; ++k) counts[k] = kExamples / (k + 1);
    return counts;
  }
  void gather(std::span<const uint64_t> examples, ExampleBatch& out) const override {
    out.rows.clear();
    out.target.clear();
    for (const uint64_t i : examples) {
      RandomStream random(2, i);
      for (uint32_t j = 0; j < kWords; ++j) {
        out.rows.id.push_back(zipf(random, kInputs));
        out.rows.value.push_back(1.0f / kWords);
      }
      out.rows.begin.push_back(out.rows.id.size());
      out.target.push_back(zipf(random, classes_));
    }
  }
  std::string fingerprint() const override { return "synthetic"; }

 private:
  uint32_t classes_;
};

class Stopwatch final : public TrainObserver {
 public:
  void on_progress(const Progress& p) override {
    if (p.step * 5 < p.steps) return;
    if (first_.step == 0) first_ = p;
    last_ = p;
  }
  double microseconds(uint64_t batch) const {
    return 1e6 * (last_.seconds - first_.seconds) / static_cast<double>((last_.step - first_.step) * batch);
  }

 private:
  Progress first_, last_;
};

double cost(const std::string& objective, uint32_t classes) {
  TrainOptions options;
  options.objective.name = objective;
  options.encoder.kind = "bag";
  options.l2 = 0;
  options.epochs = 1;
  options.patience = 0;
  Stopwatch watch;
  train_network(
      SyntheticText(classes), nullptr,
      {.kind = EncoderKind::Bag, .inputs = kInputs, .positions = 1, .classes = classes, .embedding = {}},
      options, {}, watch);
  return watch.microseconds(options.batch);
}

}  // namespace

int main() {
  for (const char* objective : {"snl", "nce"}) {
    double best[2] = {1e300, 1e300};
    for (int round = 0; round < 3; ++round) {
      best[0] = std::min(best[0], cost(objective, 10'000));
      best[1] = std::min(best[1], cost(objective, 1'000'000));
    }
    const double ratio = best[1] / best[0];
    fmt::print(
        "  {:4} {:.2f} us per example at K = 10,000, {:.2f} us at K = 1,000,000: ratio {:.2f} (target <= "
        "{:.1f}) {}\n",
        objective, best[0], best[1], ratio, kTarget, ratio <= kTarget ? "MET" : "MISSED");
  }
}
