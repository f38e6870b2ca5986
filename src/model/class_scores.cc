#include "model/class_scores.h"

#include <algorithm>

#include "math/gemm.h"
#include "model/parameters.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

class ByClass final : public ClassScores {
 public:
  explicit ByClass(const ModelFile& model) : model_(model), offset_(model.bias) {
    for (size_t k = 0; k < model.log_carrier.size(); ++k) offset_[k] += model.log_carrier[k];
  }

  uint32_t classes() const override { return model_.classes; }
  uint32_t features() const override { return model_.features; }
  void tile(const Features& x, Range rows, Range tile, float* out) const override {
    SELFNORM_CHECK(!x.is_sparse && x.columns() <= model_.features);
    const size_t width = tile.size();
    for (uint64_t i = 0; i < rows.size(); ++i)
      std::copy(offset_.begin() + tile.begin, offset_.begin() + tile.end, out + i * width);
    gemm_by_rows(rows.size(), width, x.columns(), x.dense.row(rows.begin).data(), x.columns(),
                 model_.weight.data() + tile.begin * model_.features, model_.features, out, width);
  }

 private:
  const ModelFile& model_;
  std::vector<float> offset_;  // bias + log h
};

class ByFeature final : public ClassScores {
 public:
  explicit ByFeature(const ModelFile& model)
      : classes_(model.classes),
        features_(model.features),
        theta_(parameters_of<float>(model)),
        log_carrier_(model.log_carrier) {}

  uint32_t classes() const override { return classes_; }
  uint32_t features() const override { return features_; }
  void tile(const Features& x, Range rows, Range tile, float* out) const override {
    Multiclass<float>(x, classes_, features_, log_carrier_).scores(theta_, rows, tile, out);
  }

 private:
  uint32_t classes_, features_;
  std::vector<float> theta_, log_carrier_;
};

class InFile final : public ClassScores {
 public:
  InFile(const MappedModel& model, Range classes) : model_(model), classes_(classes) {}

  uint32_t classes() const override { return static_cast<uint32_t>(classes_.size()); }
  uint32_t features() const override { return model_.model().features; }
  void tile(const Features& x, Range rows, Range tile, float* out) const override {
    SELFNORM_CHECK(!x.is_sparse && x.columns() <= features());
    const Range classes{classes_.begin + tile.begin, classes_.begin + tile.end};
    const ModelFile& m = model_.model();
    std::vector<float> offset(m.bias.begin() + static_cast<std::ptrdiff_t>(classes.begin),
                              m.bias.begin() + static_cast<std::ptrdiff_t>(classes.end));
    if (!m.log_carrier.empty())
      for (size_t k = 0; k < offset.size(); ++k) offset[k] += m.log_carrier[classes.begin + k];
    for (uint64_t i = 0; i < rows.size(); ++i) std::ranges::copy(offset, out + i * offset.size());
    std::vector<float> room;
    gemm_by_rows(rows.size(), offset.size(), x.columns(), x.dense.row(rows.begin).data(), x.columns(),
                 model_.rows(classes, room), m.features, out, offset.size());
    model_.release(classes);
  }

 private:
  const MappedModel& model_;
  Range classes_;
};

}  // namespace

std::unique_ptr<ClassScores> make_class_scores(const MappedModel& model, Range classes) {
  return std::make_unique<InFile>(model, classes);
}

std::unique_ptr<ClassScores> make_class_scores(const ModelFile& model, bool sparse_rows) {
  SELFNORM_CHECK(model.family == Family::Multiclass);
  if (sparse_rows) return std::make_unique<ByFeature>(model);
  return std::make_unique<ByClass>(model);
}

}  // namespace selfnorm
