// Limited-memory BFGS (Nocedal & Wright, Algorithm 7.5) with a strong-Wolfe line search
// (Algorithms 3.5, 3.6), and OWL-QN (Andrew & Gao 2007) when an L1 term is present. One call of step() is one
// iteration and the whole state is a value, so a run can be stopped after any step, stored, and continued
// with the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

// A step that satisfies the strong Wolfe conditions (Nocedal & Wright, Algorithms 3.5 and 3.6):
//     phi(t) <= phi(0) + c1 t phi'(0)      and      |phi'(t)| <= c2 |phi'(0)|,      c1 = 1e-4, c2 = 0.9.

struct LinePoint {
  double step = 0;
  double value = 0;
  double slope = 0;
};

struct LineResult {
  bool success = false;
  LinePoint point;
  double last_step = 0;  // the step phi was last called with
};

// `noise` is the error of phi below which two values count as equal. Non-finite values shorten the step.
LineResult strong_wolfe(const std::function<LinePoint(double)>& phi, const LinePoint& start,
                        double first_step, double noise);

// The L-BFGS direction -H g from the pairs (s_i, y_i), i = 0 .. m-1, oldest first, rho_i = 1 / (y_i . s_i)
// (Nocedal & Wright, Algorithm 7.4), in terms of inner products:
//     a_i = rho_i (s_i.g - sum_{j>i} a_j s_i.y_j)                                       newest to oldest
//     b_i = rho_i (t (y_i.g - sum_j a_j y_i.y_j) + sum_{j<i} (a_j - b_j) s_j.y_i)       oldest to newest
//     -H g = -t g + sum_j t a_j y_j - sum_j (a_j - b_j) s_j,     t = 1 / (rho_{m-1} y_{m-1}.y_{m-1}).
// The products s_i.y_j (i <= j) and y_i.y_j are remembered, so a direction costs one pass over the pairs for
// the products with g and the newest y, and one for the sum: 4m vectors of memory traffic where the recursion
// on vectors moves 10m. The products are functions of the pairs alone, so they are no part of a stored state.

template <class Real>
class InverseHessian {
 public:
  using Vectors = std::vector<std::vector<Real>>;

  void forget();
  void forget_oldest();

  // out <- -H g. Between calls pairs may only have been appended, besides what forget...() was told.
  void direction(const Vectors& s, const Vectors& y, std::span<const double> rho, std::span<const Real> g,
                 std::span<Real> out);

 private:
  std::vector<std::vector<double>> sy_, yy_;  // [j][i] = s_i.y_j, y_i.y_j for i <= j
};

struct LbfgsOptions {
  uint64_t history = 10;    // correction pairs (s, y); 1..100
  double tolerance = 1e-4;  // stop when |g| <= tolerance times |g| at the start, or when 10 iterations lower
                            // f by less than tolerance/1000 |f|
  double l1 = 0;            // adds l1 * sum |x_i| over the first l1_count coordinates
  size_t l1_count = 0;

  void validate() const;
};

template <class Real>
struct LbfgsState {
  uint64_t iteration = 0;
  uint64_t evaluations = 0;
  double first_norm = 0;                // of the (pseudo-)gradient at the start of the run
  double value = 0;                     // with the L1 term
  std::vector<Real> x, gradient;        // gradient of the smooth part
  std::vector<std::vector<Real>> s, y;  // oldest first
  std::vector<double> rho;              // 1 / (y.s)
  std::vector<double> recent_values;    // of the last 10 iterations, oldest first
};

template <class Real>
class Lbfgs {
 public:
  // f(x, gradient) overwrites the gradient and returns the value of the smooth part.
  using Function = std::function<double(std::span<const Real>, std::span<Real>)>;

  Lbfgs(LbfgsOptions options, Function f);

  void start(std::vector<Real> x);
  // For a function that has changed: forgets the curvature, keeps first_norm.
  void start_again(std::vector<Real> x);
  void restore(LbfgsState<Real> state);

  // One iteration; false when there is nothing more to do, and reason() says why.
  bool step();

  const LbfgsState<Real>& state() const { return state_; }
  LbfgsState<Real>& state() { return state_; }    // to be stored
  double gradient_norm() const { return norm_; }  // of the (pseudo-)gradient
  const std::string& reason() const { return reason_; }
  // Whether step() has begun to take over a point it found. Interrupted before that, the state is as it was
  // (or without its curvature, where the second attempt at the step begins).
  bool is_accepting() const { return is_accepting_; }
  // Whether it ended because no step improves the value.
  bool stuck() const { return stuck_; }

 private:
  std::span<const Real> pseudo_gradient() const { return options_.l1 > 0 ? pseudo_ : state_.gradient; }
  void arrive();
  bool converged();
  void forget_curvature();
  bool wolfe_search(double slope, double first_step);
  bool orthant_search(double first_step);
  double project_onto_orthant();
  double evaluate(std::span<const Real> x, std::span<Real> gradient);
  void accept(double value);

  LbfgsOptions options_;
  Function f_;
  LbfgsState<Real> state_;
  std::string reason_;
  bool stuck_ = false, is_accepting_ = false;

  // Functions of the state, or room that is used again in every iteration.
  InverseHessian<Real> hessian_;
  double norm_ = 0;
  std::vector<Real> pseudo_;     // with an L1 term only
  std::vector<Real> direction_;  // of search
  std::vector<Real> trial_x_, trial_gradient_;
};

}  // namespace selfnorm
