#include "model/energy/exponential_family.h"

#include <limits>

#include "math/kernels.h"
#include "math/process/shared_loop.h"
#include "math/special_functions.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kFamilyRowsAtOnce = 256;
constexpr double kNothing = -std::numeric_limits<double>::infinity();

// gradient_k += sum over rows of what add(row, sums) adds to sums_k; rows in fixed blocks, added in order.
template <class Add>
void add_over_rows(uint64_t rows, std::span<float> gradient, const Add& add) {
  const size_t count = gradient.size(), blocks = (rows + kFamilyRowsAtOnce - 1) / kFamilyRowsAtOnce;
  std::vector<double> parts(blocks * count);
  const auto add_block = [&](size_t block) {
    double* part = parts.data() + block * count;
    for (size_t i = block * kFamilyRowsAtOnce; i < std::min(rows, (block + 1) * kFamilyRowsAtOnce); ++i)
      add(i, part);
  };
  shared_ranges(
      blocks, 1, [&](size_t block, size_t) { add_block(block); }, owned(parts, count));
  for (size_t k = 0; k < count; ++k) {
    double sum = 0;
    for (size_t b = 0; b < blocks; ++b) sum += parts[b * count + k];
    gradient[k] += static_cast<float>(sum);
  }
}

}  // namespace

class FamilyPass final : public EnergyPass {
 public:
  explicit FamilyPass(const ExponentialFamily& family) : family_(family) {}

  std::span<const double> forward(const Points& x) override {
    const size_t count = family_.count();
    t_.resize(x.rows * count);
    s_.resize(x.rows);
    const auto score_rows = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        s_[i] = family_.row(x.row(i), std::span(t_).subspan(i * count, count));
    };
    shared_ranges(x.rows, kFamilyRowsAtOnce, score_rows, owned(s_), owned(t_, count));
    return s_;
  }

  void backward(std::span<const double> d, std::span<float> gradient) override {
    SELFNORM_CHECK(d.size() == s_.size() && gradient.size() == family_.count());
    add_over_rows(d.size(), gradient, [&](size_t i, double* sums) {
      add_scaled(d[i], t_.data() + i * gradient.size(), sums, gradient.size());
    });
  }

 private:
  const ExponentialFamily& family_;
  std::vector<double> t_, s_;
};

void ExponentialFamily::statistics(std::span<const float> x, std::span<double> t) const {
  SELFNORM_CHECK(x.size() == dimension() && t.size() == count());
  for (size_t k = 0; k < t.size();) {
    const auto& [kind, i, j] = statistics_[k];
    if (kind != Statistic::Kind::xx) {
      t[k] = statistics_[k].value(x.data());
      ++k;
      continue;
    }
    const double a = x[i];  // the pairs (i, i+1) .. (i, d-1) follow each other (make_statistics)
    for (size_t l = j; l < x.size(); ++l) t[k++] = a * static_cast<double>(x[l]);
  }
}

double ExponentialFamily::log_carrier(std::span<const float> x) const {
  double sum = 0;
  if (support_.space == Support::Space::counts)
    for (const float v : x) sum -= log_gamma(static_cast<double>(v) + 1);
  return sum;
}

double ExponentialFamily::row(std::span<const float> x, std::span<double> t) const {
  if (!contains(support_, x)) {
    std::fill(t.begin(), t.end(), 0.0);
    return kNothing;
  }
  statistics(x, t);
  return dot(eta_.data(), t.data(), t.size()) + log_carrier(x);
}

std::optional<double> ExponentialFamily::log_z(std::span<const double> eta) const {
  const auto form = closed_form(eta);
  return form ? std::optional(form->log_z) : std::nullopt;
}

std::optional<std::vector<double>> ExponentialFamily::mean(std::span<const double> eta) const {
  auto form = closed_form(eta);
  return form ? std::optional(std::move(form->mean)) : std::nullopt;
}

void ExponentialFamily::set_eta(std::span<const double> eta) {
  const std::string violation = domain_.violation(eta);
  if (!violation.empty()) throw Error(plan_.word + ": " + violation);
  theta_.assign(eta.begin(), eta.end());
  parameters_changed();
}

void ExponentialFamily::parameters_changed() {
  eta_.assign(theta_.begin(), theta_.end());
  domain_.project(eta_);
  theta_.assign(eta_.begin(), eta_.end());
  eta_.assign(theta_.begin(), theta_.end());
}

std::unique_ptr<EnergyPass> ExponentialFamily::make_pass() const {
  return std::make_unique<FamilyPass>(*this);
}

void ExponentialFamily::score(const Points& x, std::span<double> s) const {
  SELFNORM_CHECK(s.size() == x.rows);
  const auto score_rows = [&](size_t begin, size_t end) {
    std::vector<double> t(count());
    for (size_t i = begin; i < end; ++i) s[i] = row(x.row(i), t);
  };
  shared_ranges(x.rows, kFamilyRowsAtOnce, score_rows, owned(s));
}

void ExponentialFamily::score_gradient(const Points& x, std::span<double> s, std::span<float> dx) const {
  SELFNORM_CHECK(support_.is_real() && s.size() == x.rows && dx.size() == x.size());
  parallel_ranges(x.rows, kFamilyRowsAtOnce, [&](size_t begin, size_t end) {
    std::vector<double> t(count()), sums(dimension());
    for (size_t i = begin; i < end; ++i) {
      s[i] = row(x.row(i), t);
      std::fill(sums.begin(), sums.end(), 0.0);
      for (size_t k = 0; k < count(); ++k) statistics_[k].add_gradient(x.row(i).data(), eta_[k], sums.data());
      for (size_t j = 0; j < sums.size(); ++j) dx[i * sums.size() + j] = static_cast<float>(sums[j]);
    }
  });
}

void ExponentialFamily::directional(const Points& x, const Points& v, std::span<double> first,
                                    std::span<double> second) const {
  SELFNORM_CHECK(support_.is_real() && first.size() == x.rows && v.rows == x.rows);
  parallel_ranges(x.rows, kFamilyRowsAtOnce, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      StatisticJet sum;
      for (size_t k = 0; k < count(); ++k) {
        const StatisticJet t = statistics_[k].along(x.row(i).data(), v.row(i).data());
        sum.first += eta_[k] * t.first;
        sum.second += eta_[k] * t.second;
      }
      first[i] = sum.first;
      if (!second.empty()) second[i] = sum.second;
    }
  });
}

void ExponentialFamily::directional_backward(const Points& x, const Points& v,
                                             std::span<const double> d_first,
                                             std::span<const double> d_second,
                                             std::span<float> gradient) const {
  SELFNORM_CHECK(support_.is_real() && d_first.size() == x.rows && gradient.size() == count());
  add_over_rows(x.rows, gradient, [&](size_t i, double* sums) {
    for (size_t k = 0; k < count(); ++k) {
      const StatisticJet t = statistics_[k].along(x.row(i).data(), v.row(i).data());
      sums[k] += d_first[i] * t.first + (d_second.empty() ? 0 : d_second[i] * t.second);
    }
  });
}

}  // namespace selfnorm
