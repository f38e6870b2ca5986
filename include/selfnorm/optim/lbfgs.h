// Limited-memory BFGS (Nocedal & Wright, Algorithm 7.5) with a strong-Wolfe line search
// (Algorithms 3.5, 3.6), and OWL-QN (Andrew & Gao 2007) when an L1 term is present. One call of step() is one
// iteration and the whole state is a value, so a run can be stopped after any step, stored, and continued
// with the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

struct LbfgsOptions {
  uint64_t history = 10;    // correction pairs (s, y); 1..100
  double tolerance = 1e-5;  // stop when |g| <= tolerance max(1, |x|), or when 10 iterations lower f by less
                            // than tolerance/100 |f|
  double l1 = 0;            // adds l1 * sum |x_i| over the first l1_count coordinates
  size_t l1_count = 0;

  void validate() const;
};

template <class Real>
struct LbfgsState {
  uint64_t iteration = 0;
  uint64_t evaluations = 0;
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
  void restore(LbfgsState<Real> state) { state_ = std::move(state); }

  // One iteration; false when there is nothing more to do, and reason() says why.
  bool step();

  const LbfgsState<Real>& state() const { return state_; }
  double gradient_norm() const;  // of the (pseudo-)gradient
  const std::string& reason() const { return reason_; }

 private:
  std::vector<Real> pseudo_gradient() const;
  std::vector<Real> direction(std::span<const Real> gradient) const;
  bool converged(std::span<const Real> gradient);
  bool wolfe_search(std::span<const Real> direction, double slope, double first_step);
  bool orthant_search(std::span<const Real> direction, std::span<const Real> pseudo, double first_step);
  double evaluate(std::span<const Real> x, std::span<Real> gradient);
  void accept(double value, std::vector<Real> x, std::vector<Real> gradient);

  LbfgsOptions options_;
  Function f_;
  LbfgsState<Real> state_;
  std::string reason_;
};

}  // namespace selfnorm
