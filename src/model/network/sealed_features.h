// The features of a module that is not loaded (EmbeddedCode::seal): their record and sizes alone.
#pragma once

#include "model/network/feature_network.h"
#include "selfnorm/error.h"

namespace selfnorm {

class SealedFeatures : public FeatureNetwork {
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

}  // namespace selfnorm
