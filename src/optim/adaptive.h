// AdaGrad (Duchi et al. 2011) and Adam (Kingma & Ba 2015) on rows of parameters: an update touches only the
// rows it is given, so a sparse minibatch costs what it uses.
//     AdaGrad: G starts at G0;  G += g^2;  x -= rate g / (sqrt(G) + eps)
//     Adam:    m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;  x -= rate m^ / (sqrt(v^) + eps)   (hats:
//     bias-corrected by
//              the global step; rows not given keep m and v: "lazy Adam")
// An L1 term is applied as a proximal step: x <- soft(x, rate_i l1) with the coordinate's own rate_i.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace selfnorm {

template <class Real>
struct AdaptiveState {
  uint64_t step = 0;
  std::vector<Real> square;  // AdaGrad: G; Adam: v
  std::vector<Real> mean;    // Adam: m
};

template <class Real>
class Adaptive {
 public:
  // name: adagrad | adam. initial_square is AdaGrad's G0: coordinates whose gradients stay far below its root
  // move like plain gradient descent instead of taking a full-size first step.
  Adaptive(const std::string& name, size_t parameters, double initial_square);

  // To be divided by the root mean square of |x|: a step moves every used weight by about the rate, so scores
  // move by about rate |x|.
  static double default_rate(const std::string& name);

  void begin_step() { ++state_.step; }
  // Coordinates offset .. offset + gradient.size() - 1 of x.
  void update(std::span<Real> x, size_t offset, std::span<const Real> gradient, double rate, double l1);
  // Coordinates offset + column[i] of x, each once, with an l1 for each (or none).
  void update_cells(std::span<Real> x, size_t offset, std::span<const uint32_t> column,
                    std::span<const Real> gradient, double rate, std::span<const Real> l1);

  const AdaptiveState<Real>& state() const { return state_; }
  void restore(AdaptiveState<Real> state) { state_ = std::move(state); }

 private:
  class Rule;

  bool adam_;
  AdaptiveState<Real> state_;
};

}  // namespace selfnorm
