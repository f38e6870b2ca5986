#include "model/network/feature_network.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "model/energy/record_reader.h"
#include "model/energy/torchscript.h"
#include "model/network/dense_network.h"
#include "model/stored_record.h"

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
      throw_error("linear features of {} numbers and levels, expected at most {}; give the features a width",
                  width, kMostWidth);
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

// The features of a module that is not loaded (EmbeddedCode::seal): their record and sizes alone.
class SealedFeatures final : public FeatureNetwork {
 public:
  SealedFeatures(EnergyRecord record, uint32_t inputs, uint32_t width)
      : record_(std::move(record)), inputs_(inputs), width_(width) {}

  uint32_t inputs() const override { return inputs_; }
  std::vector<uint32_t> levels() const override { return {}; }
  uint32_t width() const override { return width_; }
  std::span<float> parameters() override { return {}; }
  std::span<const float> parameters() const override { return {}; }
  void parameters_changed() override {}
  void set_unseen(const std::vector<std::vector<uint64_t>>&) override {}
  EnergyRecord record() const override { return record_; }
  bool is_sealed() const override { return true; }

  std::unique_ptr<FeaturePass> make_pass() const override { refuse(); }
  void evaluate(const InputRows&, std::span<float>) const override { refuse(); }

 private:
  [[noreturn]] static void refuse() { throw Bug("sealed features were evaluated"); }

  EnergyRecord record_;
  uint32_t inputs_, width_;
};

std::unique_ptr<FeatureNetwork> linear_features(const EnergyRecord& record) {
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

constexpr uint32_t kMostModuleInputs = 1 << 20;

std::unique_ptr<FeatureNetwork> module_features(std::string_view bytes, uint32_t inputs,
                                                const std::string& name, EmbeddedCode code) {
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
  if (record.kind == "linear") return linear_features(record);
  if (record.kind == "torchscript")
    return module_features(record.module, inputs_of(record), "TorchScript features", code);
  auto network = std::make_unique<DenseNetwork>(record, "features");
  if (!network->shape().activates_output)
    throw Error("features: their output is not activated, expected it to be; the model file is damaged");
  return network;
}

std::unique_ptr<FeatureNetwork> make_linear_features(uint32_t inputs, std::vector<uint32_t> levels) {
  SELFNORM_CHECK(std::find(levels.begin(), levels.end(), 0u) == levels.end());
  return std::make_unique<LinearFeatures>(inputs, levels);
}

std::unique_ptr<FeatureNetwork> load_module_features(const std::string& path, uint32_t inputs,
                                                     EmbeddedCode code) {
  return with_plain_errors([&] {
    const runtime::MappedFile file(path);
    const auto* bytes = reinterpret_cast<const char*>(file.bytes().data());
    return module_features({bytes, file.bytes().size()}, inputs, path, code);
  });
}

std::unique_ptr<FeatureNetwork> make_sealed_features(const EnergyRecord& record, uint32_t width) {
  return std::make_unique<SealedFeatures>(record, inputs_of(record), width);
}

}  // namespace selfnorm
