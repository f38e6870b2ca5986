// What networks are moved by: Adam (optim/adaptive.h) with a clipped gradient and decoupled weight decay
// (Loshchilov & Hutter 2019),
//     g <- g min(1, clip / |g|),   x <- (1 - rate decay) x,   x <- x - Adam(g, rate),
// the moving average of what it moves, and the mean loss between two reports.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "engine/checkpoint.h"
#include "math/vector.h"

namespace selfnorm {

class ClippedAdam {
 public:
  ClippedAdam(size_t parameters, double clip, double decay)
      : gradient(parameters), optimiser_("adam", parameters, 0), clip_(clip), decay_(decay) {}

  // Of the step: set to 0 before it is added to.
  std::vector<float> gradient;

  // Takes over the norm of the gradient; false when that or the loss is not finite.
  bool is_finite(double loss) {
    const double square = inner_product<float>(gradient, gradient);
    if (!std::isfinite(loss) || !std::isfinite(square)) return false;
    seen_norm_ = std::sqrt(square);
    return true;
  }
  double norm() const { return norm_; }  // of the last move, before it was clipped

  // For whoever moves elsewhere.
  Adaptive<float>& optimiser() { return optimiser_; }
  void note_norm(double norm) { norm_ = norm; }

  // Between begin() and the next: every coordinate at most once.
  void begin(std::span<float> x, double rate) {
    norm_ = seen_norm_;
    if (norm_ > clip_) multiply<float>(clip_ / norm_, gradient);
    if (decay_ > 0) multiply<float>(1 - rate * decay_, x);
    optimiser_.begin_step();
  }
  void move(std::span<float> x, size_t offset, size_t count, double rate) {
    optimiser_.update(x, offset, std::span<const float>(gradient).subspan(offset, count), rate, 0);
  }

  void state(CheckpointFields& fields) {
    fields("gradient_norm", norm_);
    fields("optimiser", optimiser_);
  }

 private:
  Adaptive<float> optimiser_;
  double clip_, decay_;
  double norm_ = 0, seen_norm_ = 0;
};

// average <- decay average + (1 - decay) theta,  decay = min(most, (1 + t) / (10 + t)) at step t.
inline void move_average(std::span<const float> theta, uint64_t t, double most, std::span<float> average) {
  const double step = static_cast<double>(t);
  const auto decay = static_cast<float>(std::min(most, (1 + step) / (10 + step)));
  for (size_t i = 0; i < theta.size(); ++i) average[i] = decay * average[i] + (1 - decay) * theta[i];
}

// The mean since the last report, which may be asked for again until the next step.
class LossMean {
 public:
  void add(double loss) {
    if (is_reported_) sum_ = count_ = 0;
    is_reported_ = false;
    sum_ += loss;
    ++count_;
  }
  double report() {
    is_reported_ = true;
    return count_ > 0 ? sum_ / count_ : 0;
  }

  void state(CheckpointFields& fields) {
    std::vector<double> v{sum_, count_, is_reported_ ? 1.0 : 0.0};
    fields("loss", v);
    sum_ = v[0];
    count_ = v[1];
    is_reported_ = v[2] != 0;
  }

 private:
  double sum_ = 0, count_ = 0;
  bool is_reported_ = false;
};

}  // namespace selfnorm
