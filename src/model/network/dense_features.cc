#include "feature_kinds.h"
#include "selfnorm/base/error.h"
#include "selfnorm/model/network/dense_record.h"

namespace selfnorm {
namespace {

class DenseFeaturePass final : public FeaturePass {
 public:
  explicit DenseFeaturePass(const DenseNetwork& network) : pass_(network) {}

  Points forward(const InputRows& x) override { return pass_.forward(x); }
  void backward(std::span<const float> d, std::span<float> gradient) override {
    pass_.backward(d, gradient, {});
  }

 private:
  DensePass pass_;
};

class DenseFeatures final : public FeatureNetwork {
 public:
  explicit DenseFeatures(DenseNetwork network) : network_(std::move(network)) {}

  uint32_t inputs() const override { return network_.shape().inputs; }
  std::vector<uint32_t> levels() const override { return network_.shape().levels; }
  uint32_t width() const override { return network_.outputs(); }
  std::span<float> parameters() override { return network_.parameters(); }
  std::span<const float> parameters() const override {
    return static_cast<const DenseNetwork&>(network_).parameters();
  }
  void parameters_changed() override { network_.parameters_changed(); }
  void set_unseen(const std::vector<std::vector<uint64_t>>& count) override { network_.set_unseen(count); }
  std::unique_ptr<FeaturePass> make_pass() const override {
    return std::make_unique<DenseFeaturePass>(network_);
  }
  void evaluate(const InputRows& x, std::span<float> h) const override { network_.evaluate(x, h); }
  EnergyRecord record() const override { return record_of(network_); }

 private:
  DenseNetwork network_;
};

}  // namespace

std::unique_ptr<FeatureNetwork> make_dense_features(DenseShape shape, uint64_t seed) {
  if (shape.widths.empty()) return make_linear_features(shape.inputs, std::move(shape.levels));
  shape.activates_output = true;
  return std::make_unique<DenseFeatures>(DenseNetwork(std::move(shape), seed));
}

std::unique_ptr<FeatureNetwork> make_dense_features(const EnergyRecord& record) {
  DenseNetwork network = make_dense_network(record, "features");
  if (!network.shape().activates_output)
    throw Error("features: their output is not activated, expected it to be; the model file is damaged");
  return std::make_unique<DenseFeatures>(std::move(network));
}

}  // namespace selfnorm
