#include "model/energy/tilted.h"

#include <cmath>

#include "math/process/shared_loop.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kRows = 256;  // a unit of parallel work

// s += log base; -inf where the base is 0, whatever the tilt says there.
void add_log_base(std::span<const double> log_base, std::span<double> s) {
  for (size_t i = 0; i < s.size(); ++i) s[i] = std::isinf(log_base[i]) ? log_base[i] : s[i] + log_base[i];
}

// d, with 0 where s is -inf: there it does not depend on theta. `memory` holds the result when it is not d.
template <class Outside>
std::span<const double> inside(std::span<const double> d, const Outside& is_outside,
                               std::vector<double>& memory) {
  memory.clear();
  for (size_t i = 0; i < d.size(); ++i) {
    if (!is_outside(i)) continue;
    if (memory.empty()) memory.assign(d.begin(), d.end());
    memory[i] = 0;
  }
  return memory.empty() ? d : memory;
}

class TiltedPass final : public EnergyPass {
 public:
  TiltedPass(std::unique_ptr<EnergyPass> tilt, const Density& base) : tilt_(std::move(tilt)), base_(base) {}

  std::span<const double> forward(const Points& x) override {
    const std::span<const double> f = tilt_->forward(x);
    s_.assign(f.begin(), f.end());
    log_base_.resize(s_.size());
    density_log_prob(base_, x, log_base_);
    add_log_base(log_base_, s_);
    return s_;
  }

  void backward(std::span<const double> d, std::span<float> gradient) override {
    const auto is_outside = [this](size_t i) { return std::isinf(log_base_[i]); };
    tilt_->backward(inside(d, is_outside, kept_), gradient);
  }

 private:
  std::unique_ptr<EnergyPass> tilt_;
  const Density& base_;
  std::vector<double> s_, log_base_, kept_;
};

}  // namespace

TiltedEnergy::TiltedEnergy(std::unique_ptr<Energy> tilt, std::shared_ptr<const Density> base)
    : tilt_(std::move(tilt)), base_(std::move(base)) {
  SELFNORM_CHECK(tilt_ && base_ && tilt_->dimension() == base_->dimension());
}

std::unique_ptr<EnergyPass> TiltedEnergy::make_pass() const {
  return std::make_unique<TiltedPass>(tilt_->make_pass(), *base_);
}

void TiltedEnergy::score(const Points& x, std::span<double> s) const {
  std::vector<double> log_base(x.rows);
  tilt_->score(x, s);
  density_log_prob(*base_, x, log_base);
  add_log_base(log_base, s);
}

void TiltedEnergy::score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const {
  tilt_->score_gradient(x, s, dx);
  const size_t d = x.columns;
  const auto add_base = [&](size_t begin, size_t end) {
    const size_t n = end - begin;
    std::vector<double> log_base(n), gradient(n * d);
    base_->log_prob_gradient(x.slice(begin, end), log_base, gradient);
    add_log_base(log_base, s.subspan(begin, n));
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < d; ++j) {
        float& at = dx[(begin + i) * d + j];
        at = std::isinf(log_base[i]) ? 0 : static_cast<float>(at + gradient[i * d + j]);
      }
    }
  };
  shared_ranges(x.rows, kRows, add_base, owned(s), owned(dx, d));
}

void TiltedEnergy::directional(const Points& x, const Points& v, std::span<double> first,
                               std::span<double> second) const {
  tilt_->directional(x, v, first, second);
  const Support where = support();
  const auto add_base = [&](size_t begin, size_t end) {
    std::vector<double> one(end - begin), two(end - begin);
    base_->directional(x.slice(begin, end), v.slice(begin, end), one, two);
    for (size_t i = begin; i < end; ++i) {
      const bool is_inside = contains(where, x.row(i));
      first[i] = is_inside ? first[i] + one[i - begin] : 0;
      if (!second.empty()) second[i] = is_inside ? second[i] + two[i - begin] : 0;
    }
  };
  shared_ranges(x.rows, kRows, add_base, owned(first), owned(second));
}

void TiltedEnergy::directional_backward(const Points& x, const Points& v, std::span<const double> d_first,
                                        std::span<const double> d_second, std::span<float> gradient) const {
  const auto is_outside = [&x, where = support()](size_t i) { return !contains(where, x.row(i)); };
  std::vector<double> kept_first, kept_second;
  tilt_->directional_backward(x, v, inside(d_first, is_outside, kept_first),
                              inside(d_second, is_outside, kept_second), gradient);
}

}  // namespace selfnorm
