// Draws that all examples share. The classes used are those and the targets, C <= k + B of them, and the
// parameters used are the (u + 1) x C cells of these classes and the batch's u features. They are copied into
// a small model of their own (model/multiclass.h), whose scores and gradients are the same products as ever.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "family/classifier/candidate_cells.h"
#include "math/parallel.h"
#include "math/vector.h"

namespace selfnorm {
namespace {

template <class Real>
class SharedCells final : public CandidateCells<Real> {
 public:
  using CandidateCells<Real>::CandidateCells;

  void score(const Minibatch& batch, const NoiseDraw& noise, std::span<const Real> theta) override {
    batch_ = &batch;
    noise_ = &noise;
    name_classes();
    name_rows();
    copy(theta);
    scores_.resize(rows().size() * class_.size());
    const Multiclass<Real> small = model();
    for_each_tile([&](Range tile, Real* scores) { small.scores(theta_, rows(), tile, scores); });
  }

  double target(uint64_t i) const override { return static_cast<double>(scores_[cell(i, target_place_[i])]); }

  void samples(uint64_t i, std::span<double> out) const override {
    const NoiseDraw::View view = noise_->view(i);
    double* next = out.data();
    for (size_t j = view.begin; j < view.end; ++j) {
      if (j != view.hole) *next++ = static_cast<double>(scores_[cell(i, sample_place_[j])]);
    }
  }

  void derive(uint64_t i, double d_target, std::span<const double> d_sample) override {
    for (uint32_t c = 0; c < class_.size(); ++c) scores_[cell(i, c)] = 0;
    const NoiseDraw::View view = noise_->view(i);
    const double* next = d_sample.data();
    for (size_t j = view.begin; j < view.end; ++j) {
      if (j != view.hole) scores_[cell(i, sample_place_[j])] += static_cast<Real>(*next++);
    }
    scores_[cell(i, target_place_[i])] += static_cast<Real>(d_target);
  }

  void backward() override {
    const Multiclass<Real> small = model();
    gradient_.assign(small.gradient_size(), Real{0});
    for_each_tile([&](Range tile, const Real* d) { small.backward(rows(), tile, d, gradient_.data()); });
  }

  double gradient_norm() const override {
    const std::span<const Real> gradient(gradient_);
    return std::sqrt(inner_product(gradient, gradient));
  }

  // Features and classes are taken as independent.
  void update(const LazyStep<Real>& step) override {
    const size_t width = class_.size();
    parallel_ranges(width, kTile, [&](size_t begin, size_t end) {
      std::vector<Real> gradient(row_.size());
      for (size_t c = begin; c < end; ++c) {
        for (size_t r = 0; r < row_.size(); ++r) gradient[r] = gradient_[r * width + c];
        const double often = this->is_regularised() ? noise_->use_probability(class_[c], batch_size_) : 1;
        this->update_class(step, {class_[c], row_, gradient},
                           [&](uint32_t j) { return often * (touch_.empty() ? 1 : touch_[j]); });
      }
    });
  }

 private:
  using CandidateCells<Real>::batch_;
  using CandidateCells<Real>::noise_;
  using CandidateCells<Real>::input_;
  using CandidateCells<Real>::batch_size_;
  using CandidateCells<Real>::touch_;
  using CandidateCells<Real>::kTile;

  Range rows() const { return {0, batch_->data.examples()}; }
  Multiclass<Real> model() const {
    return {batch_->data.features, static_cast<uint32_t>(class_.size()), batch_->data.features.columns(),
            carrier_};
  }

  // The classes used, in order, and the places of draws and targets among them.
  void name_classes() {
    const std::vector<uint32_t>& target = batch_->data.target;
    class_.assign(noise_->classes().begin(), noise_->classes().end());
    class_.insert(class_.end(), target.begin(), target.end());
    std::sort(class_.begin(), class_.end());
    class_.erase(std::unique(class_.begin(), class_.end()), class_.end());
    const auto place = [&](uint32_t k) {
      return static_cast<uint32_t>(std::lower_bound(class_.begin(), class_.end(), k) - class_.begin());
    };
    sample_place_.clear();
    for (const uint32_t k : noise_->classes()) sample_place_.push_back(place(k));
    target_place_.clear();
    for (const uint32_t y : target) target_place_.push_back(place(y));
    carrier_.clear();
    if (input_.options.log_carrier.empty()) return;
    for (const uint32_t k : class_) carrier_.push_back(input_.options.log_carrier[k]);
  }

  void name_rows() {
    row_ = batch_->map.feature;
    if (!batch_->data.features.is_sparse) {
      row_.resize(input_.features);
      std::iota(row_.begin(), row_.end(), 0u);
    }
    row_.push_back(input_.features);
  }

  void copy(std::span<const Real> theta) {
    const size_t width = class_.size();
    theta_.resize(row_.size() * width);
    parallel_ranges(width, kTile, [&](size_t begin, size_t end) {
      for (size_t c = begin; c < end; ++c) {
        const Real* own = theta.data() + class_[c] * this->row_size();
        for (size_t r = 0; r < row_.size(); ++r) theta_[r * width + c] = own[row_[r]];
      }
    });
  }

  // The scores are kept tile by tile, examples x classes of the tile each.
  template <class Body>
  void for_each_tile(const Body& body) {
    parallel_ranges(class_.size(), kTile, [&](size_t begin, size_t end) {
      body(Range{begin, end}, scores_.data() + begin * batch_->data.examples());
    });
  }

  size_t cell(uint64_t example, uint32_t place) const {
    const size_t begin = place / kTile * kTile;
    const size_t width = std::min(kTile, class_.size() - begin);
    return begin * batch_->data.examples() + example * width + (place - begin);
  }

  std::vector<uint32_t> class_, sample_place_, target_place_;
  std::vector<uint32_t> row_;  // feature of every row of the small model, then d for the biases
  std::vector<float> carrier_;
  std::vector<Real> theta_, scores_, gradient_;
};

}  // namespace

template <class Real>
std::unique_ptr<CandidateCells<Real>> make_shared_cells(const LoopInput& input, uint64_t batch) {
  return std::make_unique<SharedCells<Real>>(input, batch);
}

template std::unique_ptr<CandidateCells<float>> make_shared_cells(const LoopInput&, uint64_t);
template std::unique_ptr<CandidateCells<double>> make_shared_cells(const LoopInput&, uint64_t);

}  // namespace selfnorm
