#include "selfnorm/optim/dual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "selfnorm/base/error.h"

namespace selfnorm {
namespace {

// Below this multiplier the penalty changes the likelihood by less than rounding; it only picks, among
// equivalent parameters (theory.md 1.5), the best normalised ones.
constexpr double kSmallestAlpha = 1e-6;
constexpr double kLargestAlpha = 1e9;
constexpr uint64_t kMaxUpdates = 40;
// A bracket this narrow (in log alpha) without a hit means that an end was measured before its solve had
// converged.
constexpr double kStaleWidth = 1e-3;

}  // namespace

DualSearch::DualSearch(double delta, double slack) : delta_(delta), slack_(slack), alpha_(0.1) {
  SELFNORM_CHECK(delta > 0 && slack > 0 && slack < 1);
}

bool DualSearch::update(double rms) {
  ++updates_;
  const Point now{std::log(alpha_), std::log(std::max(rms, 1e-300))};
  const double target = std::log(delta_);
  const bool feasible = rms <= delta_;
  if (feasible && rms >= delta_ * (1 - slack_)) return true;
  if (feasible && alpha_ <= kSmallestAlpha) {
    inactive_ = true;
    return true;
  }
  if (feasible && updates_ >= kMaxUpdates) {
    loose_ = true;
    return true;
  }
  if (alpha_ >= kLargestAlpha) {
    throw Error(fmt::format(
        "constraint: rms log Z = {:.4g} even at alpha = {:.4g}, wanted {:.4g}; use a larger --delta", rms,
        alpha_, delta_));
  }
  (feasible ? feasible_ : infeasible_) = now;
  if (feasible_ && infeasible_ && feasible_->log_alpha - infeasible_->log_alpha < kStaleWidth) {
    (feasible ? infeasible_ : feasible_).reset();
  }
  // Aim at the middle of the accepted band.
  const double aim = target + std::log1p(-0.5 * slack_);
  double next;
  if (feasible_ && infeasible_) {
    const double width = feasible_->log_alpha - infeasible_->log_alpha;
    const double rise = feasible_->log_rms - infeasible_->log_rms;
    const double share = rise < 0 ? (aim - infeasible_->log_rms) / rise : 0.5;
    // Every third step bisects, which bounds the number of steps when the relation bends.
    next = infeasible_->log_alpha + width * (updates_ % 3 == 0 ? 0.5 : std::clamp(share, 0.05, 0.95));
  } else {
    // rms falls about like alpha^(-1/2) .. alpha^(-1).
    next = now.log_alpha + std::clamp(1.5 * (now.log_rms - aim), -6.0, 6.0);
  }
  if (updates_ >= kMaxUpdates) next = now.log_alpha + 0.1;  // whatever it takes to meet the constraint
  alpha_ = std::clamp(std::exp(next), kSmallestAlpha, kLargestAlpha);
  return false;
}

void DualSearch::refine(double slack) {
  slack_ = slack;
  updates_ = 0;
  inactive_ = loose_ = false;
  feasible_.reset();
  infeasible_.reset();
}

std::string DualSearch::save() const {
  const auto point = [](const std::optional<Point>& p) {
    return p ? fmt::format("1 {:a} {:a}", p->log_alpha, p->log_rms) : std::string("0 0 0");
  };
  return fmt::format("{:a} {:a} {} {} {}", slack_, alpha_, updates_, point(feasible_), point(infeasible_));
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
  alpha_ = number();
  updates_ = static_cast<uint64_t>(number());
  feasible_ = point();
  infeasible_ = point();
}

}  // namespace selfnorm
