// The free directions of a model and what they can do for its log-normalizer (theory.md 1.5).
//
// Multiclass: adding v to every class's weights and a to every bias leaves p(y|x) as it is and moves A(x) by
// v . x + a. Joint: the same for directions v along which the alternatives of a group do not differ, the null
// space of the scatter within groups. So the regression of A on (1, free features) gives V*, its residual
// variance, and, subtracted, the equivalent model with that variance.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "audit/least_squares.h"
#include "data/example_source.h"
#include "model/model_file.h"

namespace selfnorm {

// Takes the log-normalizers of a source block by block.
class GaugeRegression {
 public:
  // Keeps a reference. Joint sources are read once, for their free directions. Beyond kLargestRegression
  // features, and for thousands with few rows, the log-normalizers are kept and the regression reads the
  // source again, some dozens of times.
  GaugeRegression(const ExampleSource& source, uint32_t features);
  ~GaugeRegression();

  void add(const Dataset& block, std::span<const double> log_z);
  // V*: the least-squares fit. Slopes are for all features of the model.
  LinearFit fit() const;
  // The fit that is meant for other inputs than these.
  LinearFit fit_for_prediction() const;

 private:
  class Moments;
  LinearFit finished(bool for_prediction) const;

  const ExampleSource& source_;
  uint32_t features_;
  std::unique_ptr<Moments> moments_;  // none: iterative
  std::vector<double> log_z_;
};

inline constexpr uint32_t kLargestRegression = 4096;

// What of the variance of A on n inputs costs nothing to remove.
struct GaugeVariance {
  double variance = 0;                    // V = Var A
  std::optional<double> v_star;           // V*: what is left of it after the lossless gauge (theory.md 1.5)
  std::optional<double> v_star_adjusted;  // V* n / (n - 1 - rank): corrected for what the fit takes from n
                                          // inputs; none when there are no more inputs than directions
};
// Of a GaugeRegression::fit() of the n log-normalizers.
GaugeVariance gauge_variance(double variance, const LinearFit& fit, uint64_t n);

// The equivalent model whose log-normalizer is A(x) - slope . x - intercept, with log_normalizer = 0. A joint
// model has no bias: its constant becomes the intercept.
void apply_gauge(const LinearFit& fit, ModelFile& model);

}  // namespace selfnorm
