#include "audit/bounds/scored_examples.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "data/dataset.h"
#include "math/kernels.h"
#include "model/multiclass.h"

namespace selfnorm {
namespace {

using Sink = std::function<void(uint64_t, const ScoredExample&)>;

double norm_of(std::span<const double> v) { return std::sqrt(dot(v.data(), v.data(), v.size())); }

double largest_row_norm(const Features& x, double constant) {
  double largest = 0;
  for (uint64_t i = 0; i < x.rows(); ++i) {
    double square = constant;
    for_each_entry(x, i, [&](uint32_t, float v) { square += double{v} * double{v}; });
    largest = std::max(largest, square);
  }
  return std::sqrt(largest);
}

void require_finite(std::span<const double> scores, uint64_t example) {
  for (const double s : scores) {
    if (std::isfinite(s)) continue;
    throw_error("row {} (counted from 0): a score is {}; the features or the weights are too large", example,
                s);
  }
}

class MulticlassExamples final : public ScoredExamples {
 public:
  MulticlassExamples(const Dataset& data, std::vector<double> theta, std::span<const float> log_carrier)
      : data_(data),
        classes_(data.classes()),
        theta_(std::move(theta)),
        log_carrier_(log_carrier.begin(), log_carrier.end()),
        model_(data.features, classes_, static_cast<uint32_t>(theta_.size() / classes_ - 1), {}),
        radius_(largest_row_norm(data.features, 1)) {
    for (size_t row = 0; row < theta_.size(); row += classes_) {
      double mean = 0;
      for (size_t k = 0; k < classes_; ++k) mean += theta_[row + k] / classes_;
      for (size_t k = 0; k < classes_; ++k) theta_[row + k] -= mean;
    }
  }

  uint64_t examples() const override { return data_.examples(); }
  uint64_t block() const override { return std::clamp<uint64_t>((1 << 19) / classes_, 1, 64); }
  double norm() const override { return norm_of(theta_); }
  double radius() const override { return radius_; }
  void visit(uint64_t begin, uint64_t end, const Sink& sink) const override {
    std::vector<double> scores((end - begin) * classes_);
    model_.scores(theta_, {begin, end}, {0, classes_}, scores.data());
    for (uint64_t i = begin; i < end; ++i) {
      const auto row = std::span(scores).subspan((i - begin) * classes_, classes_);
      require_finite(row, i);
      sink(i, {.scores = row,
               .log_carrier = log_carrier_,
               .target = data_.target[i],
               .weight = data_.weight.empty() ? 1 : double{data_.weight[i]}});
    }
  }

 private:
  const Dataset& data_;
  uint32_t classes_;
  std::vector<double> theta_, log_carrier_;
  Multiclass<double> model_;
  double radius_;
};

class JointExamples final : public ScoredExamples {
 public:
  JointExamples(const Dataset& data, std::vector<double> theta)
      : data_(data),
        theta_(std::move(theta)),
        model_(data.features, static_cast<uint32_t>(theta_.size())),
        radius_(largest_row_norm(data.features, 0)) {}

  uint64_t examples() const override { return data_.examples(); }
  double norm() const override { return norm_of(theta_); }
  double radius() const override { return radius_; }
  void visit(uint64_t begin, uint64_t end, const Sink& sink) const override {
    std::vector<double> scores;
    for (uint64_t g = begin; g < end; ++g) {
      scores.clear();
      for (uint64_t row = data_.group_begin[g]; row < data_.group_begin[g + 1]; ++row) {
        scores.push_back(model_.score(theta_, row));
      }
      require_finite(scores, g);
      sink(g, {.scores = scores,
               .log_carrier = {},
               .target = data_.target[g],
               .weight = data_.weight.empty() ? 1 : double{data_.weight[g]}});
    }
  }

 private:
  const Dataset& data_;
  std::vector<double> theta_;
  Joint<double> model_;
  double radius_;
};

}  // namespace

std::unique_ptr<ScoredExamples> scored_examples(const Dataset& data, std::vector<double> theta,
                                                std::span<const float> log_carrier) {
  if (data.examples() == 0) throw Error("the data has no rows; expected at least one");
  if (std::ranges::find(data.target, Dataset::kNoTarget) != data.target.end()) {
    throw Error("the data has rows without a label; a likelihood needs one on every row");
  }
  const size_t width = data.is_joint() ? 1 : data.classes();
  const size_t rows = data.features.columns() + (data.is_joint() ? size_t{0} : size_t{1});
  if (width == 0 || theta.size() % width != 0 || theta.size() < rows * width) {
    throw_error("the model has {} parameters; the data with {} features and {} classes needs {}",
                theta.size(), data.features.columns(), data.classes(), rows * width);
  }
  if (!log_carrier.empty() && (data.is_joint() || log_carrier.size() != width)) {
    throw_error("log h has {} values; expected one for each of {} classes", log_carrier.size(),
                data.classes());
  }
  if (data.is_joint()) return std::make_unique<JointExamples>(data, std::move(theta));
  return std::make_unique<MulticlassExamples>(data, std::move(theta), log_carrier);
}

}  // namespace selfnorm
