#include "optim/dual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "selfnorm/error.h"

namespace selfnorm {
namespace {

// Below this multiplier the penalty changes the likelihood by less than rounding; it only picks, among
// equivalent parameters (theory.md 1.5), the best normalised ones. The next smaller one is 0.
constexpr double kSmallestAlpha = 1e-6;
constexpr double kLargestAlpha = 1e9;
// At most a factor e^2 at a time: warm starts then stay close to the path of solutions.
constexpr double kLongestStep = 2;
constexpr double kNarrowest = 1e-3;  // width of a bracket in log alpha

}  // namespace

DualSearch::DualSearch(double delta, double slack, uint64_t most_updates)
    : delta_(delta),
      slack_(slack),
      most_updates_(most_updates),
      alpha_(std::clamp(1 / delta, kSmallestAlpha, kLargestAlpha)) {
  SELFNORM_CHECK(delta > 0 && slack > 0 && slack < 1);
}

DualStep DualSearch::update(double rms) {
  ++updates_;
  const bool feasible = rms <= delta_;
  if (feasible && rms >= delta_ * (1 - slack_)) return DualStep::met;
  if (alpha_ == 0) return feasible ? DualStep::inactive : DualStep::bracketed;
  const Point now{std::log(alpha_), std::log(std::max(rms, 1e-300))};
  (feasible ? feasible_ : infeasible_) = now;
  // Out of patience or of room: without an infeasible solution, the unconstrained one is the last to try.
  const bool last = updates_ >= most_updates_;
  if (feasible && !infeasible_ && (last || alpha_ <= kSmallestAlpha)) {
    alpha_ = 0;
    return DualStep::again;
  }
  if (last || (!feasible && alpha_ >= kLargestAlpha)) return DualStep::bracketed;
  const double aim = std::log(delta_) + std::log1p(-0.5 * slack_);
  double next;
  if (feasible_ && infeasible_) {
    const double width = feasible_->log_alpha - infeasible_->log_alpha;
    if (width < kNarrowest) return DualStep::bracketed;
    const double rise = feasible_->log_rms - infeasible_->log_rms;
    const double share = rise < 0 ? (aim - infeasible_->log_rms) / rise : 0.5;
    // Every third step bisects, which bounds the number of steps when the relation bends.
    next = infeasible_->log_alpha + width * (updates_ % 3 == 0 ? 0.5 : std::clamp(share, 0.05, 0.95));
  } else {
    // rms falls about like alpha^(-1/2) .. alpha^(-1).
    next = now.log_alpha + std::clamp(1.5 * (now.log_rms - aim), -kLongestStep, kLongestStep);
  }
  alpha_ = std::clamp(std::exp(next), kSmallestAlpha, kLargestAlpha);
  return DualStep::again;
}

void DualSearch::refine(double slack, uint64_t most_updates) {
  slack_ = slack;
  most_updates_ = most_updates;
  updates_ = 0;
  feasible_.reset();
  infeasible_.reset();
}

std::string DualSearch::save() const {
  const auto point = [](const std::optional<Point>& p) {
    return p ? fmt::format("1 {:a} {:a}", p->log_alpha, p->log_rms) : std::string("0 0 0");
  };
  return fmt::format("{:a} {} {:a} {} {} {}", slack_, most_updates_, alpha_, updates_, point(feasible_),
                     point(infeasible_));
}

void DualSearch::restore(const std::string& text) {
  std::istringstream in(text);
  const auto number = [&in] {
    std::string token;
    if (!(in >> token)) throw Error("checkpoint: the state of the constraint is incomplete");
    return std::strtod(token.c_str(), nullptr);
  };
  const auto point = [&number]() -> std::optional<Point> {
    const bool present = number() != 0;
    const double log_alpha = number();
    const double log_rms = number();
    return present ? std::optional<Point>({log_alpha, log_rms}) : std::nullopt;
  };
  slack_ = number();
  most_updates_ = static_cast<uint64_t>(number());
  alpha_ = number();
  updates_ = static_cast<uint64_t>(number());
  feasible_ = point();
  infeasible_ = point();
}

}  // namespace selfnorm
