// Energies and densities with closed forms, for tests of samplers and estimators.
#pragma once

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "model/energy/energy.h"
#include "proposal/density/density.h"
#include "selfnorm/error.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {

// s as a function of one point that fills its gradient too, unless that is empty.
class SmallEnergy final : public Energy {
 public:
  using Function = std::function<double(std::span<const float> x, std::span<double> gradient)>;

  SmallEnergy(uint32_t dimension, Support support, Function s)
      : dimension_(dimension), support_(std::move(support)), s_(std::move(s)) {}

  uint32_t dimension() const override { return dimension_; }
  Support support() const override { return support_; }
  std::span<float> parameters() override { return {}; }
  std::span<const float> parameters() const override { return {}; }
  void score(const Points& x, std::span<double> s) const override {
    for (uint64_t i = 0; i < x.rows; ++i) s[i] = s_(x.row(i), {});
  }
  void score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const override {
    std::vector<double> gradient(dimension_);
    for (uint64_t i = 0; i < x.rows; ++i) {
      s[i] = s_(x.row(i), gradient);
      for (uint32_t j = 0; j < dimension_; ++j) dx[i * dimension_ + j] = static_cast<float>(gradient[j]);
    }
  }
  std::unique_ptr<EnergyPass> make_pass() const override { throw Bug("not trained"); }
  void directional(const Points&, const Points&, std::span<double>, std::span<double>) const override {
    throw Bug("not trained");
  }
  void directional_backward(const Points&, const Points&, std::span<const double>, std::span<const double>,
                            std::span<float>) const override {
    throw Bug("not trained");
  }
  EnergyRecord record() const override { return {"small", "{}", {}, ""}; }

 private:
  uint32_t dimension_;
  Support support_;
  Function s_;
};

inline double log_normal_volume(double sd) { return std::log(sd) + std::log(2 * std::numbers::pi) / 2; }

// s = shift - sum_j (x_j - mean_j)^2 / (2 sd_j^2); log Z = shift + sum_j log(sd_j sqrt(2 pi)) over R^d.
inline SmallEnergy quadratic(std::vector<double> mean, std::vector<double> sd, double shift = 0,
                             Support support = Support::reals()) {
  const auto d = static_cast<uint32_t>(mean.size());
  return {d, std::move(support), [mean, sd, shift](std::span<const float> x, std::span<double> gradient) {
            double s = shift;
            for (size_t j = 0; j < x.size(); ++j) {
              const double z = (static_cast<double>(x[j]) - mean[j]) / sd[j];
              s -= z * z / 2;
              if (!gradient.empty()) gradient[j] = -z / sd[j];
            }
            return s;
          }};
}

// s = log sum_k exp(log_weight_k - |x - centre_k|^2 / 2) with centre_k = (c_k, ..., c_k);
// log Z = log sum_k exp(log_weight_k) + d log sqrt(2 pi).
struct Bump {
  double centre, log_weight;
};
inline SmallEnergy bumps(uint32_t d, std::vector<Bump> parts) {
  return {d, Support::reals(), [parts](std::span<const float> x, std::span<double> gradient) {
            LogSumExp total;
            std::vector<double> term;
            for (const Bump& part : parts) {
              double s = part.log_weight;
              for (const float v : x) s -= std::pow(static_cast<double>(v) - part.centre, 2) / 2;
              term.push_back(s);
              total.add(s);
            }
            for (size_t j = 0; j < gradient.size(); ++j) {
              gradient[j] = 0;
              for (size_t k = 0; k < parts.size(); ++k)
                gradient[j] -=
                    std::exp(term[k] - total.value()) * (static_cast<double>(x[j]) - parts[k].centre);
            }
            return total.value();
          }};
}

// s = sum_j field x_j + sum_j coupling x_j x_{j+1} (cyclic) over `levels` levels of each of d coordinates.
inline SmallEnergy cycle(uint32_t d, uint32_t levels, double field, double coupling) {
  Support support = Support::binary(d);
  support.levels.assign(d, levels);
  return {d, support, [field, coupling](std::span<const float> x, std::span<double>) {
            double s = 0;
            for (size_t j = 0; j < x.size(); ++j)
              s +=
                  static_cast<double>(x[j]) * (field + coupling * static_cast<double>(x[(j + 1) % x.size()]));
            return s;
          }};
}

// visit(x) for all points of a support of levels.
template <class Visit>
void for_each_point(const Support& support, const Visit& visit) {
  std::vector<float> x(support.levels.size());
  for (;;) {
    visit(std::span<const float>(x));
    size_t j = 0;
    for (; j < x.size(); ++j) {
      if (++x[j] < static_cast<float>(support.levels[j])) break;
      x[j] = 0;
    }
    if (j == x.size()) return;
  }
}

// Independent N(mean, sd^2).
class SmallNormal final : public Density {
 public:
  SmallNormal(uint32_t dimension, double mean, double sd) : dimension_(dimension), mean_(mean), sd_(sd) {}

  uint32_t dimension() const override { return dimension_; }
  Support support() const override { return Support::reals(); }
  void sample(RandomStream& random, std::span<float> rows) const override {
    for (float& x : rows) x = static_cast<float>(mean_ + sd_ * random.normal());
  }
  void log_prob(const Points& x, std::span<double> out) const override {
    for (uint64_t i = 0; i < x.rows; ++i) {
      out[i] = -static_cast<double>(dimension_) * log_normal_volume(sd_);
      for (const float v : x.row(i)) out[i] -= std::pow((static_cast<double>(v) - mean_) / sd_, 2) / 2;
    }
  }
  void log_prob_gradient(const Points& x, std::span<double> log_q,
                         std::span<double> gradient) const override {
    log_prob(x, log_q);
    for (size_t k = 0; k < x.size(); ++k)
      gradient[k] = (mean_ - static_cast<double>(x.data[k])) / (sd_ * sd_);
  }
  void directional(const Points&, const Points&, std::span<double>, std::span<double>) const override {
    throw Bug("not trained");
  }
  DensityRecord record() const override { return {"small", {}}; }

 private:
  uint32_t dimension_;
  double mean_, sd_;
};

// Uniform over a box of two finite sides or over levels.
class SmallUniform final : public Density {
 public:
  explicit SmallUniform(Support support) : support_(std::move(support)) {}

  uint32_t dimension() const override {
    return static_cast<uint32_t>(support_.is_real() ? support_.lower.size() : support_.levels.size());
  }
  Support support() const override { return support_; }
  void sample(RandomStream& random, std::span<float> rows) const override {
    for (size_t k = 0; k < rows.size(); ++k) {
      const size_t j = k % dimension();
      rows[k] = support_.is_real() ? static_cast<float>(support_.lower[j] + random.uniform() * side(j))
                                   : static_cast<float>(random.below(support_.levels[j]));
    }
  }
  void log_prob(const Points& x, std::span<double> out) const override {
    double volume = 0;
    for (size_t j = 0; j < dimension(); ++j) volume += std::log(side(j));
    for (uint64_t i = 0; i < x.rows; ++i) out[i] = contains(support_, x.row(i)) ? -volume : -HUGE_VAL;
  }
  void log_prob_gradient(const Points& x, std::span<double> log_q,
                         std::span<double> gradient) const override {
    log_prob(x, log_q);
    std::fill(gradient.begin(), gradient.end(), 0.0);
  }
  void directional(const Points&, const Points&, std::span<double>, std::span<double>) const override {
    throw Bug("not trained");
  }
  DensityRecord record() const override { return {"small", {}}; }

 private:
  double side(size_t j) const {
    return support_.is_real() ? support_.upper[j] - support_.lower[j]
                              : static_cast<double>(support_.levels[j]);
  }
  Support support_;
};

}  // namespace selfnorm
