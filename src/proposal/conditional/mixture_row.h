// The mixture of one row of parameters, and a block of points under it: the memory of one thread.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "proposal/conditional/mixture.h"
#include "proposal/conditional/mixture_kernels.h"

namespace selfnorm {

class MixtureRow {
 public:
  // Of q_w: K components, and with w > 0 the broad one as last.
  MixtureRow(const ConditionalMixture& mixture, double w);

  // False, and nothing else may be asked for, when a parameter is not finite.
  bool set(std::span<const float> parameters);
  const MixtureTerms& terms() const { return terms_; }
  double weight(size_t k) const { return weight_[k]; }  // pi_k
  double scale(size_t kj) const { return scale_[kj]; }
  double slope(size_t kj) const { return slope_[kj]; }  // d scale / d raw
  double first(size_t kj) const { return cells_.empty() ? 0 : cells_[kj].first; }
  double second(size_t kj) const { return cells_.empty() ? 1 : cells_[kj].second; }
  std::span<const TruncatedNormal> cells() const { return cells_; }  // K x d; empty without bounds

  // Points [begin, begin + n) of y, n <= kMixtureBlock; those outside the support stand somewhere inside.
  void load(const Points& y, uint64_t begin, size_t n);
  bool is_inside(size_t i) const { return is_inside_[i]; }
  double log_broad(size_t i) const;  // log g
  void evaluate();                   // of the points loaded
  double log_prob(size_t i) const { return log_sum_[i]; }
  double share(size_t k, size_t i) const { return share_[k * kMixtureBlock + i] * inverse_sum_[i]; }
  double offset(size_t k, size_t j, size_t i) const {  // tau
    const size_t kj = k * terms_.dimension + j;
    return (y_[j * kMixtureBlock + i] - anchor_[kj]) * inverse_[kj];
  }
  // moments (count x (1 + 2 d)) += sum_i c_i share_ki (1, tau, tau^2) of the points inside; set clears them.
  void add_moments(std::span<const double> c);
  std::span<const double> moments() const { return moments_; }

 private:
  const ConditionalMixture& mixture_;
  size_t components_;
  double log_rest_;  // log(1 - w)
  MixtureTerms terms_{};
  std::vector<double> constant_, anchor_, inverse_, tilt_, weight_, scale_, log_scale_, slope_;
  std::vector<TruncatedNormal> cells_;
  size_t loaded_ = 0;
  std::vector<double> y_, share_, moments_;
  double log_sum_[kMixtureBlock], inverse_sum_[kMixtureBlock], c_[kMixtureBlock];
  bool is_inside_[kMixtureBlock];
};

// body(row, begin, end, memory) for every row of parameters that has points, in parallel: the points
// [begin, end), and memory not yet set to the row. It writes what is its row's, or its points', of `outputs`,
// and nothing else: processes share the rows.
struct MixtureOutput {
  template <class T>
  static MixtureOutput of_rows(std::span<T> values, size_t each) {
    return {reinterpret_cast<std::byte*>(values.data()), values.empty() ? 0 : each * sizeof(T), false};
  }
  template <class T>
  static MixtureOutput of_points(std::span<T> values, size_t each = 1) {
    return {reinterpret_cast<std::byte*>(values.data()), values.empty() ? 0 : each * sizeof(T), true};
  }

  std::byte* data;
  size_t each;  // bytes of a row, or of a point
  bool is_of_points;
};
void for_each_row(const ConditionalMixture& mixture, const MixturePoints& at, double w,
                  const std::function<void(uint32_t, uint64_t, uint64_t, MixtureRow&)>& body,
                  std::initializer_list<MixtureOutput> outputs);

}  // namespace selfnorm
