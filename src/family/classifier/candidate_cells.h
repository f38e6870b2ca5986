// The scores that a minibatch without log-normalizers needs, those of its targets and noise classes, and the
// cells of the parameters behind them: theta is class-major here, K x (d+1) with the bias last in a row, so
// that the cells of a class are close together in memory. Each cell used takes one lazy step.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "family/classifier/loop.h"
#include "family/classifier/minibatch.h"
#include "family/classifier/noise_draw.h"
#include "optim/adaptive.h"

namespace selfnorm {

template <class Real>
struct LazyStep {
  std::span<Real> theta;
  Adaptive<Real>& optimiser;
  double rate;
};

template <class Real>
class CandidateCells {
 public:
  CandidateCells(const LoopInput& input, uint64_t batch)
      : input_(input), batch_size_(batch), touch_(touch_probability(input.train, batch)) {}
  virtual ~CandidateCells() = default;

  // Keeps references to the minibatch and the draw until update().
  virtual void score(const Minibatch& batch, const NoiseDraw& noise, std::span<const Real> theta) = 0;
  // s(x_i, y_i), and the scores of the draws that example i uses, in their order.
  virtual double target(uint64_t i) const = 0;
  virtual void samples(uint64_t i, std::span<double> out) const = 0;
  // Puts the derivatives of the loss in their place; examples may come from several threads.
  virtual void derive(uint64_t i, double d_target, std::span<const double> d_sample) = 0;
  // The gradient, when every example has derivatives.
  virtual void backward() = 0;
  virtual double gradient_norm() const = 0;
  virtual void update(const LazyStep<Real>& step) = 0;

 protected:
  static constexpr size_t kTile = 32;  // classes, or examples, of a unit of work

  size_t row_size() const { return size_t{input_.features} + 1; }

  // Cells of one class, by features (d: the bias) in increasing order, with their gradient.
  struct ClassCells {
    uint32_t k;
    std::span<const uint32_t> row;
    std::span<Real> gradient;
  };

  bool is_regularised() const { return input_.options.l1 > 0 || input_.options.l2 > 0; }

  // L1 and L2 count on touched cells only, divided by probability(feature), that of being touched: their
  // expectation is the full term.
  template <class Probability>
  void update_class(const LazyStep<Real>& step, const ClassCells& cells,
                    const Probability& probability) const {
    const TrainOptions& options = input_.options;
    const size_t offset = cells.k * row_size();
    std::vector<Real> l1(options.l1 > 0 ? cells.row.size() : 0);
    for (size_t r = 0; is_regularised() && r < cells.row.size(); ++r) {
      if (cells.row[r] == input_.features) continue;
      const double p = probability(cells.row[r]);
      cells.gradient[r] += static_cast<Real>(options.l2 / p) * step.theta[offset + cells.row[r]];
      if (options.l1 > 0) l1[r] = static_cast<Real>(options.l1 / p);
    }
    step.optimiser.update_cells(step.theta, offset, cells.row, cells.gradient, step.rate, l1);
  }

  const LoopInput& input_;
  uint64_t batch_size_;
  std::vector<double> touch_;  // of every feature; empty: 1
  const Minibatch* batch_ = nullptr;
  const NoiseDraw* noise_ = nullptr;
};

// in (rows x columns) as columns x rows: from feature-major to class-major theta, and back.
template <class Real>
std::vector<Real> transposed(std::span<const Real> in, size_t rows, size_t columns);

// log sum_k h(k): log Z where all scores are 0.
template <class Real>
double starting_log_z(const LoopInput& input) {
  return -static_cast<double>(initial_parameters<Real>(input.classes, 0, input.options.log_carrier)[0]);
}

// Of the default rate.
inline double rate_of_candidates(const ObjectiveOptions& options) {
  constexpr double kEstimateRate = 0.4;
  return objective_entry(options.name).uses_estimate ? kEstimateRate : 1;
}

// For draws that all examples share, or for draws of their own.
template <class Real>
std::unique_ptr<CandidateCells<Real>> make_candidate_cells(bool is_shared, const LoopInput& input,
                                                           uint64_t batch);

}  // namespace selfnorm
