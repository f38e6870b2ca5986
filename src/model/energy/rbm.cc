#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "math/gemm.h"
#include "math/kernels.h"
#include "math/process/shared_loop.h"
#include "math/random.h"
#include "math/sigmoid.h"
#include "model/energy/make_energy.h"
#include "model/energy/record_reader.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

constexpr size_t kRbmRowsAtOnce = 64;
constexpr size_t kUnitsAtOnce = 8;
constexpr double kStart = 0.01;  // standard deviation of W

// 1 with its chance, else 0. Half of the bits of a random number say which: right to 2^-32. The sign of a
// difference, because which of two it is nobody can foretell.
void draw_bits(RandomStream& random, std::span<const double> chance, float* out) {
  const auto bit = [](uint64_t half, double p) {
    const uint64_t below = half - static_cast<uint64_t>(static_cast<int64_t>(0x1p32 * p));
    return static_cast<float>(static_cast<int32_t>(below >> 63));
  };
  size_t k = 0;
  for (; k + 2 <= chance.size(); k += 2) {
    const uint64_t bits = random.next();
    out[k] = bit(bits >> 32, chance[k]);
    out[k + 1] = bit(bits & 0xFFFFFFFF, chance[k + 1]);
  }
  if (k < chance.size()) out[k] = bit(random.next() >> 32, chance[k]);
}

class Rbm final : public Energy {
 public:
  Rbm(uint32_t dimension, uint32_t hidden)
      : dimension_(dimension), hidden_(hidden), theta_(dimension + hidden + size_t{hidden} * dimension) {}

  std::span<const float> visible_bias() const { return std::span(theta_).first(dimension_); }
  std::span<const float> hidden_bias() const { return std::span(theta_).subspan(dimension_, hidden_); }
  const float* weight(size_t h) const { return theta_.data() + dimension_ + hidden_ + h * dimension_; }
  uint32_t hidden() const { return hidden_; }

  // s(v), and sigma of every hidden unit; a row outside {0,1}^d has s = -inf.
  double row(std::span<const float> v, std::span<double> active) const {
    if (!contains(support_, v)) {
      std::fill(active.begin(), active.end(), 0.0);
      return -std::numeric_limits<double>::infinity();
    }
    for (size_t h = 0; h < hidden_; ++h)
      active[h] = static_cast<double>(hidden_bias()[h]) + dot(weight(h), v.data(), dimension_);
    return dot(visible_bias().data(), v.data(), dimension_) +
           sigmoid_in_place(active.data(), hidden_).softplus;
  }

  uint32_t dimension() const override { return dimension_; }
  Support support() const override { return support_; }
  std::span<float> parameters() override { return theta_; }
  std::span<const float> parameters() const override { return theta_; }
  std::unique_ptr<EnergyPass> make_pass() const override;

  void score(const Points& x, std::span<double> s) const override {
    SELFNORM_CHECK(s.size() == x.rows);
    const auto score_rows = [&](size_t begin, size_t end) {
      std::vector<double> active(hidden_);
      for (size_t i = begin; i < end; ++i) s[i] = row(x.row(i), active);
    };
    shared_ranges(x.rows, kRbmRowsAtOnce, score_rows, owned(s));
  }

  // Derivatives with respect to x belong to real supports.
  void score_gradient(const Points&, std::span<double>, std::span<float>) const override { refuse(); }
  void directional(const Points&, const Points&, std::span<double>, std::span<double>) const override {
    refuse();
  }
  void directional_backward(const Points&, const Points&, std::span<const double>, std::span<const double>,
                            std::span<float>) const override {
    refuse();
  }

  // h_k ~ sigma(c_k + w_k . v), then v_j ~ sigma(a_j + sum_k h_k w_kj).
  bool block_sweeps(uint64_t sweeps, uint64_t seed, std::span<float> rows) const override {
    const auto sweep_rows = [&](size_t begin, size_t end) {
      const size_t n = end - begin;
      float* v = rows.data() + begin * dimension_;
      std::vector<float> h(n * hidden_);
      std::vector<double> chance(n * std::max<size_t>(hidden_, dimension_));
      std::vector<RandomStream> random;
      for (size_t i = begin; i < end; ++i) random.emplace_back(seed, i);
      const auto draw = [&](size_t width, float* out) {
        std::copy_n(out, n * width, chance.begin());
        sigmoid_in_place(chance.data(), n * width);
        for (size_t i = 0; i < n; ++i)
          draw_bits(random[i], {chance.data() + i * width, width}, out + i * width);
      };
      for (uint64_t t = 0; t < sweeps; ++t) {
        for (size_t i = 0; i < n; ++i)
          std::copy_n(hidden_bias().data(), hidden_, h.begin() + static_cast<std::ptrdiff_t>(i * hidden_));
        gemm_by_rows(n, hidden_, dimension_, v, dimension_, weight(0), dimension_, h.data(), hidden_);
        draw(hidden_, h.data());
        for (size_t i = 0; i < n; ++i) std::copy_n(visible_bias().data(), dimension_, v + i * dimension_);
        gemm(n, dimension_, hidden_, h.data(), hidden_, weight(0), dimension_, 1.0f, v, dimension_);
        draw(dimension_, v);
      }
    };
    shared_ranges(rows.size() / dimension_, kRbmRowsAtOnce, sweep_rows, owned(rows, dimension_));
    return true;
  }

  EnergyRecord record() const override {
    const auto a = visible_bias(), c = hidden_bias();
    EnergyRecord out;
    out.kind = "rbm";
    out.settings = nlohmann::json{{"dimension", dimension_}, {"hidden", hidden_}}.dump();
    out.tensors = {{"visible_bias", {dimension_}, {a.begin(), a.end()}},
                   {"hidden_bias", {hidden_}, {c.begin(), c.end()}},
                   {"weight", {hidden_, dimension_}, {weight(0), theta_.data() + theta_.size()}}};
    return out;
  }

 private:
  [[noreturn]] static void refuse() {
    throw Error(
        "rbm: binary vectors have no derivatives with respect to x; choose an objective or sampler for "
        "binary data");
  }

  uint32_t dimension_, hidden_;
  Support support_ = Support::binary(dimension_);
  std::vector<float> theta_;
};

class RbmPass final : public EnergyPass {
 public:
  explicit RbmPass(const Rbm& model) : model_(model) {}

  std::span<const double> forward(const Points& x) override {
    x_ = x;
    active_.resize(x.rows * model_.hidden());
    s_.resize(x.rows);
    const auto score_rows = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i)
        s_[i] = model_.row(x.row(i), std::span(active_).subspan(i * model_.hidden(), model_.hidden()));
    };
    shared_ranges(x.rows, kRbmRowsAtOnce, score_rows, owned(s_), owned(active_, model_.hidden()));
    return s_;
  }

  // A unit of work owns the parameters of some hidden units (one more: the visible biases).
  void backward(std::span<const double> d, std::span<float> gradient) override {
    const size_t features = model_.dimension(), hidden = model_.hidden();
    SELFNORM_CHECK(d.size() == x_.rows && gradient.size() == model_.parameters().size());
    const auto add_row = [&](size_t i, double by, std::vector<double>& sum) {
      for (size_t j = 0; j < features; ++j) sum[j] += by * static_cast<double>(x_.row(i)[j]);
    };
    const auto write = [&](const std::vector<double>& sum, float* out) {
      for (size_t j = 0; j < features; ++j) out[j] += static_cast<float>(sum[j]);
    };
    const auto add_unit = [&](size_t unit) {
      std::vector<double> sum(features);
      if (unit == 0) {
        for (size_t i = 0; i < x_.rows; ++i)
          if (d[i] != 0) add_row(i, d[i], sum);
        write(sum, gradient.data());
        return;
      }
      for (size_t h = (unit - 1) * kUnitsAtOnce; h < std::min(hidden, unit * kUnitsAtOnce); ++h) {
        double bias = 0;
        std::fill(sum.begin(), sum.end(), 0.0);
        for (size_t i = 0; i < x_.rows; ++i) {
          const double by = d[i] * active_[i * hidden + h];
          bias += by;
          if (by != 0) add_row(i, by, sum);
        }
        gradient[features + h] += static_cast<float>(bias);
        write(sum, gradient.data() + features + hidden + h * features);
      }
    };
    const size_t units = (hidden + kUnitsAtOnce - 1) / kUnitsAtOnce + 1;
    Communicator* const all = sharing(units);
    if (all == nullptr) return parallel_units(units, add_unit);
    const auto first_hidden = [&](size_t unit) {
      return unit == 0 ? 0 : std::min(hidden, (unit - 1) * kUnitsAtOnce);
    };
    float* const biases = gradient.data() + features;
    share_units(
        *all, units, add_unit,
        shared_array(*all, units, gradient.data(), [&](size_t unit) { return unit == 0 ? 0 : features; }),
        shared_array(*all, units, biases, first_hidden),
        shared_array(*all, units, biases + hidden,
                     [&](size_t unit) { return first_hidden(unit) * features; }));
  }

 private:
  const Rbm& model_;
  Points x_;
  std::vector<double> active_, s_;
};

std::unique_ptr<EnergyPass> Rbm::make_pass() const { return std::make_unique<RbmPass>(*this); }

std::unique_ptr<Rbm> new_rbm(uint32_t dimension, uint32_t hidden) {
  require_range(dimension >= 1 && dimension <= 65536, "rbm: dimension", dimension, "1 .. 65536");
  require_range(hidden >= 1 && hidden <= 65536, "rbm: hidden", hidden, "1 .. 65536");
  return std::make_unique<Rbm>(dimension, hidden);
}

}  // namespace

std::unique_ptr<Energy> make_rbm(const RbmOptions& options) {
  auto out = new_rbm(options.dimension, options.hidden);
  RandomStream random(options.seed);
  const std::span<float> theta = out->parameters();
  for (float& w : theta.subspan(size_t{options.dimension} + options.hidden))
    w = static_cast<float>(kStart * random.normal());
  return out;
}

std::unique_ptr<Energy> make_rbm(const EnergyRecord& record) {
  const RecordReader reader(record, "energy rbm", "rbm");
  const uint32_t dimension = reader.whole_number("dimension", 1, 65536);
  const uint32_t hidden = reader.whole_number("hidden", 1, 65536);
  reader.expect_values(dimension + hidden + size_t{hidden} * dimension);
  auto out = new_rbm(dimension, hidden);
  const std::span<float> theta = out->parameters();
  reader.read("visible_bias", {dimension}, theta.first(dimension));
  reader.read("hidden_bias", {hidden}, theta.subspan(dimension, hidden));
  reader.read("weight", {hidden, dimension}, theta.subspan(size_t{dimension} + hidden));
  return out;
}

}  // namespace selfnorm
