#include "model/network/feature_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/range.h"
#include "model/energy/record_reader.h"
#include "model/energy/torchscript_factory.h"
#include "model/network/dense_record.h"
#include "model/network/feature_kinds.h"
#include "model/network/sealed_features.h"
#include "model/network/torch_features_factory.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/file_error.h"
#include "selfnorm/runtime/mapped_file.h"

namespace selfnorm {
namespace {

constexpr uint32_t kMostLinearInputs = 1 << 20, kMostWidth = 1 << 24;
constexpr const char* kUnseen = "unseen{}";

// h = (x, u_1, u_2, ...): u_k is the unit vector of level_k - 1, or share_k for level 0.
class LinearFeatures final : public FeatureNetwork {
 public:
  LinearFeatures(uint32_t inputs, const std::vector<uint32_t>& levels) : inputs_(inputs), levels_(levels) {
    uint64_t width = inputs;
    for (const uint32_t n : levels) width += n - 1;
    if (width > kMostWidth)
      throw Error(fmt::format(
          "linear features of {} numbers and levels, expected at most {}; give the features a width", width,
          kMostWidth));
    width_ = static_cast<uint32_t>(width);
    for (const uint32_t n : levels) share_.emplace_back(n - 1);
  }

  uint32_t inputs() const override { return inputs_; }
  std::vector<uint32_t> levels() const override { return levels_; }
  uint32_t width() const override { return width_; }
  std::span<float> parameters() override { return {}; }
  std::span<const float> parameters() const override { return {}; }
  void parameters_changed() override {}

  void set_unseen(const std::vector<std::vector<uint64_t>>& count) override {
    SELFNORM_CHECK(count.size() == levels_.size());
    for (size_t k = 0; k < count.size(); ++k) {
      SELFNORM_CHECK(count[k].size() == levels_[k]);
      double total = 0;
      for (size_t level = 1; level < levels_[k]; ++level) total += static_cast<double>(count[k][level]);
      if (total == 0) continue;
      for (size_t level = 1; level < levels_[k]; ++level)
        share_[k][level - 1] = static_cast<float>(static_cast<double>(count[k][level]) / total);
    }
  }

  std::unique_ptr<FeaturePass> make_pass() const override { return std::make_unique<Pass>(*this); }

  void evaluate(const InputRows& x, std::span<float> h) const override {
    SELFNORM_CHECK(x.number.columns == inputs_ && x.categorical == levels_.size());
    SELFNORM_CHECK(h.size() == x.rows() * width_);
    std::fill(h.begin(), h.end(), 0.0f);
    for (uint64_t i = 0; i < x.rows(); ++i) {
      float* at = std::copy_n(x.number.data + i * inputs_, inputs_, h.data() + i * width_);
      for (size_t k = 0; k < levels_.size(); at += share_[k++].size()) {
        const uint32_t level = x.level[i * x.categorical + k];
        SELFNORM_CHECK(level < levels_[k]);
        if (level > 0)
          at[level - 1] = 1;
        else
          std::copy(share_[k].begin(), share_[k].end(), at);
      }
    }
  }

  EnergyRecord record() const override {
    EnergyRecord out;
    out.kind = "linear";
    out.settings = nlohmann::json{{"inputs", inputs_}, {"levels", levels_}}.dump();
    for (size_t k = 0; k < share_.size(); ++k)
      out.tensors.push_back({fmt::format(kUnseen, k), {share_[k].size()}, share_[k]});
    return out;
  }

  std::span<float> share(size_t k) { return share_[k]; }

 private:
  class Pass final : public FeaturePass {
   public:
    explicit Pass(const LinearFeatures& features) : features_(features) {}

    Points forward(const InputRows& x) override {
      h_.resize(x.rows() * features_.width_);
      features_.evaluate(x, h_);
      return {h_.data(), x.rows(), features_.width_};
    }
    void backward(std::span<const float> d, std::span<float> gradient) override {
      SELFNORM_CHECK(d.size() == h_.size() && gradient.empty());
    }

   private:
    const LinearFeatures& features_;
    std::vector<float> h_;
  };

  uint32_t inputs_, width_ = 0;
  std::vector<uint32_t> levels_;
  std::vector<std::vector<float>> share_;  // of levels 1, 2, ...
};

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

constexpr uint32_t kMostModuleInputs = 1 << 20;

std::unique_ptr<FeatureNetwork> features_of(std::string_view bytes, uint32_t inputs, const std::string& name,
                                            EmbeddedCode code) {
  auto* make = reinterpret_cast<TorchFeaturesFactory*>(
      torch_symbol(SELFNORM_TEXT(SELFNORM_TORCH_FEATURES), name, bytes, code));
  return std::unique_ptr<FeatureNetwork>(make(bytes.data(), bytes.size(), inputs, name.c_str()));
}

uint32_t inputs_of(const EnergyRecord& record) {
  return RecordReader(record, "TorchScript features", "torchscript")
      .whole_number("inputs", 0, kMostModuleInputs);
}

}  // namespace

std::unique_ptr<FeatureNetwork> make_features(const EnergyRecord& record, EmbeddedCode code) {
  require_one_of("kind of features", record.kind, {"dense", "linear", "torchscript"});
  if (record.kind == "dense") return make_dense_features(record);
  if (record.kind == "linear") return make_linear_features(record);
  return make_module_features(record, code);
}

std::unique_ptr<FeatureNetwork> make_linear_features(uint32_t inputs, std::vector<uint32_t> levels) {
  SELFNORM_CHECK(std::find(levels.begin(), levels.end(), 0u) == levels.end());
  return std::make_unique<LinearFeatures>(inputs, levels);
}

std::unique_ptr<FeatureNetwork> make_linear_features(const EnergyRecord& record) {
  const RecordReader reader(record, "linear features", "linear");
  const uint32_t inputs = reader.whole_number("inputs", 0, kMostLinearInputs);
  const std::vector<uint32_t> levels = reader.whole_numbers("levels", 1, kMostWidth);
  size_t shares = 0;
  for (const uint32_t n : levels) shares += n - 1;
  reader.expect_values(shares);
  auto out = std::make_unique<LinearFeatures>(inputs, levels);
  for (size_t k = 0; k < levels.size(); ++k)
    reader.read(fmt::format(kUnseen, k), {levels[k] - 1}, out->share(k));
  return out;
}

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

std::unique_ptr<FeatureNetwork> load_module_features(const std::string& path, uint32_t inputs,
                                                     EmbeddedCode code) {
  try {
    const runtime::MappedFile file(path);
    const auto* bytes = reinterpret_cast<const char*>(file.bytes().data());
    return features_of({bytes, file.bytes().size()}, inputs, path, code);
  } catch (const runtime::IoError& error) {
    throw Error(error.what());
  }
}

std::unique_ptr<FeatureNetwork> make_module_features(const EnergyRecord& record, EmbeddedCode code) {
  return features_of(record.module, inputs_of(record), "TorchScript features", code);
}

std::unique_ptr<FeatureNetwork> make_sealed_features(const EnergyRecord& record, uint32_t width) {
  return std::make_unique<SealedFeatures>(record, inputs_of(record), width);
}

}  // namespace selfnorm
