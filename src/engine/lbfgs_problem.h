// Full passes: every step is an iteration of L-BFGS (optim/lbfgs.h). What is minimised, and where it ends
// besides convergence, is the problem's own.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "engine/engine.h"
#include "optim/lbfgs.h"

namespace selfnorm {

template <class Real>
class LbfgsProblem : public Problem {
 public:
  explicit LbfgsProblem(const LbfgsOptions& options)
      : lbfgs_(options,
               [this](std::span<const Real> x, std::span<Real> gradient) { return evaluate(x, gradient); }) {}
  LbfgsProblem(const LbfgsProblem&) = delete;
  LbfgsProblem& operator=(const LbfgsProblem&) = delete;

  const Plan& plan() const override { return plan_; }

  // A pass over all examples may take minutes. Interrupted before a point is taken over, the optimiser goes
  // on from where it was to the same point.
  bool is_unmoved(bool /*in_move*/) const override { return is_stepping_ && !lbfgs_.is_accepting(); }

  Step move(uint64_t /*at*/, double /*factor*/) override {
    if (std::string end = limit(); !end.empty()) return stop(std::move(end));
    is_stepping_ = true;
    const bool has_moved = lbfgs_.step();
    is_stepping_ = false;
    if (!has_moved) return stop(lbfgs_.reason());
    arrive();
    return {};
  }

  void take(Snapshot& out) const override { out.values<Real>() = point(); }
  void put(const Snapshot& snapshot) override { result_ = snapshot.values<Real>(); }

  void state(CheckpointFields& fields, uint64_t /*steps_taken*/) override {
    LbfgsState<Real> read;
    const std::vector<Real> sized(fields.reads() ? parameters() : 0);
    read.x = read.gradient = sized;
    LbfgsState<Real>& state = fields.reads() ? read : lbfgs_.state();
    fields("lbfgs.iteration", state.iteration);
    fields("lbfgs.evaluations", state.evaluations);
    fields("lbfgs.first_norm", state.first_norm);
    fields("lbfgs.value", state.value);
    fields("lbfgs.x", state.x);
    fields("lbfgs.gradient", state.gradient);
    uint64_t pairs = state.s.size();
    fields("lbfgs.pairs", pairs);
    for (uint64_t i = 0; i < pairs; ++i) {
      if (fields.reads()) state.s.push_back(sized);
      if (fields.reads()) state.y.push_back(sized);
      fields(fmt::format("lbfgs.s{}", i), state.s[i]);
      fields(fmt::format("lbfgs.y{}", i), state.y[i]);
    }
    state.rho.resize(pairs);
    fields("lbfgs.rho", state.rho);
    fields("lbfgs.recent_values", state.recent_values);
    if (fields.reads()) lbfgs_.restore(std::move(read));
  }

 protected:
  virtual size_t parameters() const = 0;
  // The value and its gradient, which is overwritten.
  virtual double evaluate(std::span<const Real> x, std::span<Real> gradient) = 0;
  // Why there is to be no other iteration; "": there may be one.
  virtual std::string limit() = 0;
  virtual Step stop(std::string reason) { return Step::finished(std::move(reason)); }
  // After an iteration, whose last evaluation was at the point it accepted.
  virtual void arrive() {}

  // The result when there is one, otherwise where the optimiser is.
  const std::vector<Real>& point() const { return result_.empty() ? lbfgs_.state().x : result_; }

  Plan plan_;
  Lbfgs<Real> lbfgs_;

 private:
  std::vector<Real> result_;
  bool is_stepping_ = false;
};

// Of a function as it is, from a start to where it converges.
template <class Real>
class Minimisation : public LbfgsProblem<Real> {
 public:
  Minimisation(const LbfgsOptions& options, std::vector<Real> start, typename Lbfgs<Real>::Function f)
      : LbfgsProblem<Real>(options), start_(std::move(start)), f_(std::move(f)) {}

  Step begin() override {
    this->lbfgs_.start(start_);
    return {};
  }
  using LbfgsProblem<Real>::point;

 protected:
  size_t parameters() const override { return start_.size(); }
  double evaluate(std::span<const Real> x, std::span<Real> gradient) override { return f_(x, gradient); }
  std::string limit() override { return {}; }

 private:
  std::vector<Real> start_;
  typename Lbfgs<Real>::Function f_;
};

}  // namespace selfnorm
