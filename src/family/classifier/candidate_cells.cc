// Draws that each example has for itself. A score is one product of the example's features with the row of
// its class; the uses of a class, as noise or as a target, are brought together for its gradient, which has a
// cell for every feature of these examples and the bias.
#include "family/classifier/candidate_cells.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/dataset.h"
#include "math/parallel.h"
#include "math/vector.h"

namespace selfnorm {
namespace {

template <class Real>
class OwnCells final : public CandidateCells<Real> {
 public:
  using CandidateCells<Real>::CandidateCells;

  void score(const Minibatch& batch, const NoiseDraw& noise, std::span<const Real> theta) override {
    batch_ = &batch;
    noise_ = &noise;
    const uint64_t n = batch.data.examples();
    sample_.resize(noise.classes().size());
    target_.resize(n);
    parallel_ranges(n, kTile, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        target_[i] = score_of(i, batch.data.target[i], theta);
        const NoiseDraw::View view = noise.view(i);
        for (size_t j = view.begin; j < view.end; ++j) sample_[j] = score_of(i, noise.classes()[j], theta);
      }
    });
  }

  double target(uint64_t i) const override { return target_[i]; }
  void samples(uint64_t i, std::span<double> out) const override {
    std::copy_n(sample_.data() + noise_->view(i).begin, out.size(), out.data());
  }
  void derive(uint64_t i, double d_target, std::span<const double> d_sample) override {
    target_[i] = d_target;
    std::copy(d_sample.begin(), d_sample.end(), sample_.data() + noise_->view(i).begin);
  }

  void backward() override {
    collect_uses();
    gradient_.resize(first_.size() - 1);
    parallel_ranges(gradient_.size(), kTile, [&](size_t begin, size_t end) {
      std::vector<double> sum(batch_->data.features.columns() + size_t{1});
      std::vector<uint32_t> touched;
      for (size_t c = begin; c < end; ++c) class_gradient(c, sum, touched);
    });
  }

  double gradient_norm() const override {
    double squares = 0;
    for (const ClassGradient& g : gradient_)
      for (const Real v : g.value) squares += static_cast<double>(v) * static_cast<double>(v);
    return std::sqrt(squares);
  }

  // A cell is touched when one of the examples has the feature and uses the class.
  void update(const LazyStep<Real>& step) override {
    const double batch = static_cast<double>(batch_size_);
    parallel_ranges(gradient_.size(), kTile, [&](size_t begin, size_t end) {
      for (size_t c = begin; c < end; ++c) {
        const uint32_t k = use_[first_[c]].k;
        const double often = this->is_regularised() ? noise_->use_probability(k, 1) : 1;
        this->update_class(step, {k, gradient_[c].row, gradient_[c].value}, [&](uint32_t j) {
          const double has = touch_.empty() ? 1 : -std::expm1(std::log1p(-touch_[j]) / batch);
          return -std::expm1(batch * std::log1p(-often * has));
        });
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

  struct Use {
    uint32_t k;
    uint32_t example;
    double d;
  };
  struct ClassGradient {
    std::vector<uint32_t> row;
    std::vector<Real> value;
  };

  uint32_t feature(uint32_t column) const {
    return batch_->map.feature.empty() ? column : batch_->map.feature[column];
  }

  double score_of(uint64_t i, uint32_t k, std::span<const Real> theta) const {
    const Real* own = theta.data() + k * this->row_size();
    const std::vector<float>& carrier = input_.options.log_carrier;
    double sum =
        static_cast<double>(own[input_.features]) + (carrier.empty() ? 0 : static_cast<double>(carrier[k]));
    for_each_entry(batch_->data.features, i, [&](uint32_t column, float v) {
      sum += static_cast<double>(v) * static_cast<double>(own[feature(column)]);
    });
    return sum;
  }

  // By class, the uses of one class in the order of the examples.
  void collect_uses() {
    use_.clear();
    for (uint32_t i = 0; i < target_.size(); ++i) {
      use_.push_back({batch_->data.target[i], i, target_[i]});
      const NoiseDraw::View view = noise_->view(i);
      for (size_t j = view.begin; j < view.end; ++j) use_.push_back({noise_->classes()[j], i, sample_[j]});
    }
    std::stable_sort(use_.begin(), use_.end(), [](const Use& a, const Use& b) { return a.k < b.k; });
    first_.assign(1, 0);
    for (size_t u = 1; u <= use_.size(); ++u)
      if (u == use_.size() || use_[u].k != use_[u - 1].k) first_.push_back(u);
  }

  // `sum` is 0 before and after.
  void class_gradient(size_t c, std::vector<double>& sum, std::vector<uint32_t>& touched) {
    const auto bias = static_cast<uint32_t>(sum.size() - 1);
    touched.assign(1, bias);
    for (size_t u = first_[c]; u < first_[c + 1]; ++u) {
      sum[bias] += use_[u].d;
      for_each_entry(batch_->data.features, use_[u].example, [&](uint32_t column, float v) {
        sum[column] += use_[u].d * static_cast<double>(v);
        touched.push_back(column);
      });
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    ClassGradient& out = gradient_[c];
    out.row.clear();
    out.value.clear();
    for (const uint32_t column : touched) {
      out.row.push_back(column == bias ? input_.features : feature(column));
      out.value.push_back(static_cast<Real>(sum[column]));
      sum[column] = 0;
    }
  }

  std::vector<double> target_, sample_;  // scores, then derivatives
  std::vector<Use> use_;
  std::vector<size_t> first_;  // use of every class, then the number of uses
  std::vector<ClassGradient> gradient_;
};

// Draws that all examples share. The classes used are those and the targets, C <= k + B of them, and the
// parameters used are the (u + 1) x C cells of these classes and the batch's u features. They are copied into
// a small model of their own (model/multiclass.h), whose scores and gradients are the same products as ever.

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
    for (size_t j = view.begin; j < view.end; ++j)
      if (j != view.hole) *next++ = static_cast<double>(scores_[cell(i, sample_place_[j])]);
  }

  void derive(uint64_t i, double d_target, std::span<const double> d_sample) override {
    for (uint32_t c = 0; c < class_.size(); ++c) scores_[cell(i, c)] = 0;
    const NoiseDraw::View view = noise_->view(i);
    const double* next = d_sample.data();
    for (size_t j = view.begin; j < view.end; ++j)
      if (j != view.hole) scores_[cell(i, sample_place_[j])] += static_cast<Real>(*next++);
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
    const std::span<const uint32_t> target = batch_->data.target;
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
std::vector<Real> transposed(std::span<const Real> in, size_t rows, size_t columns) {
  constexpr size_t kColumnsAtOnce = 32;
  std::vector<Real> out(in.size());
  parallel_ranges(columns, kColumnsAtOnce, [&](size_t begin, size_t end) {
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = begin; c < end; ++c) out[c * rows + r] = in[r * columns + c];
  });
  return out;
}
template std::vector<float> transposed(std::span<const float>, size_t, size_t);
template std::vector<double> transposed(std::span<const double>, size_t, size_t);

template <class Real>
std::unique_ptr<CandidateCells<Real>> make_candidate_cells(bool is_shared, const LoopInput& input,
                                                           uint64_t batch) {
  if (is_shared) return std::make_unique<SharedCells<Real>>(input, batch);
  return std::make_unique<OwnCells<Real>>(input, batch);
}

template std::unique_ptr<CandidateCells<float>> make_candidate_cells(bool, const LoopInput&, uint64_t);
template std::unique_ptr<CandidateCells<double>> make_candidate_cells(bool, const LoopInput&, uint64_t);

}  // namespace selfnorm
