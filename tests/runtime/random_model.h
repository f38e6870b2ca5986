// Small random models and their definition in double, as an oracle for the runtime.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "model/model_file.h"
#include "selfnorm.h"

namespace selfnorm::test {

inline constexpr WeightKind kKinds[] = {WeightKind::Float32, WeightKind::Bfloat16, WeightKind::Int8};

struct Sparse {
  std::vector<uint32_t> index;
  std::vector<float> value;
};

inline std::vector<float> normals(std::mt19937& random, size_t n, float scale = 1) {
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> out(n);
  for (float& v : out) v = normal(random);
  return out;
}

// 1 .. n
inline uint32_t up_to(std::mt19937& random, uint32_t n) { return 1 + static_cast<uint32_t>(random() % n); }

inline ModelFile random_model(std::mt19937& random, uint32_t classes, uint32_t features, WeightKind kind) {
  ModelFile out;
  out.input = ModelInput::Dense;
  out.weights = kind;
  out.classes = classes;
  out.features = features;
  out.log_normalizer = 0.1 + std::log(static_cast<double>(classes));
  out.weight = normals(random, size_t{classes} * features, 0.3f);
  out.bias = normals(random, classes);
  if (classes % 2 == 0) out.log_carrier = normals(random, classes);
  for (uint32_t k = 0; k < classes; ++k) out.labels.push_back("class " + std::to_string(k));
  return out;
}

// Linear for hidden = 0.
inline AmortisedNormalizer random_normalizer(std::mt19937& random, uint32_t features, uint32_t hidden) {
  AmortisedNormalizer out;
  out.intercept = 0.3 + 1e-9;
  out.slope = normals(random, features, 0.2f);
  out.hidden_weight = normals(random, size_t{hidden} * features, 0.3f);
  out.hidden_bias = normals(random, hidden);
  out.output = normals(random, hidden, 0.5f);
  return out;
}

// log_carrier_k + w_k . x + bias_k, in double.
inline double reference_score(const ModelFile& model, const std::vector<float>& x, uint32_t k) {
  double s = model.bias.empty() ? 0 : model.bias[k];
  if (!model.log_carrier.empty()) s += model.log_carrier[k];
  for (uint32_t j = 0; j < model.features; ++j) {
    s += static_cast<double>(model.weight[size_t{k} * model.features + j]) * x[j];
  }
  return s;
}

inline double reference_log_normalizer(const ModelFile& model, const std::vector<float>& x) {
  double sum = 0;
  for (uint32_t k = 0; k < model.classes; ++k) sum += std::exp(reference_score(model, x, k));
  return std::log(sum);
}

// intercept + slope . x + output . max(0, hidden_weight x + hidden_bias), in double.
inline double reference_normalizer(const AmortisedNormalizer& b, const std::vector<float>& x) {
  double sum = b.intercept;
  for (size_t j = 0; j < x.size(); ++j) sum += static_cast<double>(b.slope[j]) * x[j];
  for (size_t i = 0; i < b.hidden(); ++i) {
    double unit = b.hidden_bias[i];
    for (size_t j = 0; j < x.size(); ++j) {
      unit += static_cast<double>(b.hidden_weight[i * x.size() + j]) * x[j];
    }
    sum += b.output[i] * std::max(0.0, unit);
  }
  return sum;
}

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "selfnorm-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string saved_bytes(const ModelFile& model) {
  const ScratchDirectory scratch;
  save_model(model, scratch.file("model"));
  return contents(scratch.file("model"));
}

// A model opened by the C interface from 8-byte aligned memory; null with the status when it is refused.
class OpenModel {
 public:
  explicit OpenModel(const std::string& bytes) : memory_(bytes.size() / 8 + 1) {
    std::memcpy(memory_.data(), bytes.data(), bytes.size());
    status_ = selfnorm_open_memory(memory_.data(), bytes.size(), &model_);
  }
  explicit OpenModel(const ModelFile& model) : OpenModel(saved_bytes(model)) {}
  ~OpenModel() { selfnorm_close(model_); }
  OpenModel(const OpenModel&) = delete;
  OpenModel& operator=(const OpenModel&) = delete;

  operator const selfnorm_model*() const { return model_; }
  selfnorm_model* get() { return model_; }
  selfnorm_status status() const { return status_; }
  std::span<const std::byte> bytes(size_t n) const { return std::as_bytes(std::span(memory_)).first(n); }

 private:
  std::vector<uint64_t> memory_;
  selfnorm_model* model_ = nullptr;
  selfnorm_status status_ = SELFNORM_OK;
};

}  // namespace selfnorm::test
