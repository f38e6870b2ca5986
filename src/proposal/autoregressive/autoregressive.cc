#include "proposal/autoregressive/autoregressive.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/failure.h"
#include "math/activation.h"
#include "math/gemm.h"
#include "math/kernels.h"
#include "math/parallel.h"
#include "network/pass.h"
#include "selfnorm/runtime/log_sum_exp.h"

namespace selfnorm {
namespace {

constexpr size_t kHeadRows = 32;  // a unit of parallel work
constexpr double kMostWidth = 4096, kMostHeads = 65536;
constexpr Activation kHidden = Activation::silu;

// Hidden unit u of `width`: its degree, 1 .. d-1.
size_t degree(size_t u, size_t width, size_t d) { return d < 2 ? 1 : 1 + u * (d - 1) / width; }

using HeadKind = ConditionalHead::Kind;

Support support_of(const std::vector<ConditionalHead>& heads) {
  std::vector<uint32_t> levels;
  std::vector<bool> is_angle;
  for (const ConditionalHead& h : heads) {
    levels.push_back(h.kind == HeadKind::levels ? h.count : 0);
    is_angle.push_back(h.kind == HeadKind::angle);
  }
  return Support::mixed(std::move(levels), std::move(is_angle));
}

template <class Size>
std::vector<size_t> begins(const std::vector<ConditionalHead>& heads, const std::vector<uint32_t>& order,
                           const Size& size) {
  std::vector<size_t> out{0};
  for (const uint32_t j : order) out.push_back(out.back() + size(heads[j]));
  return out;
}

NetworkPlan plan_of(const Autoregressive::Shape& shape, size_t inputs, size_t outputs) {
  NetworkPlan plan;
  plan.inputs = static_cast<uint32_t>(inputs);
  plan.widths = shape.widths;
  plan.widths.push_back(static_cast<uint32_t>(outputs));
  plan.activation = kHidden;
  plan.activates_output = false;
  return plan;
}

void check(const Autoregressive::Shape& shape) {
  std::vector<bool> is_seen(shape.heads.size());
  bool is_good = !shape.heads.empty() && shape.order.size() == shape.heads.size() && !shape.widths.empty();
  for (size_t p = 0; is_good && p < shape.order.size(); ++p) {
    is_good = shape.order[p] < is_seen.size() && !is_seen[shape.order[p]];
    if (is_good) is_seen[shape.order[p]] = true;
  }
  if (!is_good) throw Error("an autoregressive density needs an order of its columns and hidden layers");
  const size_t ends = shape.lower.size();
  if (ends != shape.upper.size() || (ends > 0 && ends != shape.heads.size()))
    throw Error("an autoregressive density needs two ends of every column, or none");
}

}  // namespace

Autoregressive::Autoregressive(Shape shape)
    : shape_((check(shape), std::move(shape))),
      support_(support_of(shape_.heads)),
      in_(begins(shape_.heads, shape_.order, [](const ConditionalHead& h) { return h.inputs(); })),
      out_(begins(shape_.heads, shape_.order, [](const ConditionalHead& h) { return h.parameters(); })),
      network_(plan_of(shape_, inputs(), outputs())),
      direct_(inputs() * outputs()) {
  const size_t d = dimension();
  for (const uint32_t width : shape_.widths)
    for (size_t p = 0, u = 0; p < d; ++p) {
      while (u < width && degree(u, width, d) <= p) ++u;
      units_.push_back(u);
    }
  mask_.assign(network_.theta.size() + direct_.size(), 0);
  const auto open = [&](size_t row, size_t count) { std::fill_n(mask_.begin() + row, count, uint8_t{1}); };
  const auto& layers = network_.shape.layers;
  for (size_t l = 0; l < layers.size(); ++l) {
    const NetworkLayer& layer = layers[l];
    open(layer.bias, layer.out);
    if (l + 1 == layers.size()) break;
    for (size_t u = 0; u < layer.out; ++u) {
      const size_t m = degree(u, layer.out, d);
      open(layer.weight + u * layer.in, l == 0 ? in_[std::min(m, d)] : m < d ? units_[(l - 1) * d + m] : 0);
    }
  }
  for (size_t p = 0; p < d; ++p)
    for (size_t o = out_[p]; o < out_[p + 1]; ++o) {
      open(layers.back().weight + o * layers.back().in, units_[(layers.size() - 2) * d + p]);
      open(network_.theta.size() + o * inputs(), in_[p]);
    }
  network_.pack();
}

std::vector<float> Autoregressive::theta() const {
  std::vector<float> out = network_.theta;
  out.insert(out.end(), direct_.begin(), direct_.end());
  return out;
}

void Autoregressive::set_theta(std::span<const float> theta) {
  SELFNORM_CHECK(theta.size() == parameters());
  const size_t n = network_.theta.size();
  for (size_t i = 0; i < theta.size(); ++i)
    (i < n ? network_.theta[i] : direct_[i - n]) = mask_[i] ? theta[i] : 0;
  network_.pack();
}

void Autoregressive::draw_start(const Points& data, uint64_t seed) {
  RandomStream random(seed);
  const auto& layers = network_.shape.layers;
  std::vector<float> start(parameters());
  for (size_t l = 0; l < layers.size(); ++l) {
    // A unit sees half of its inputs on average.
    const double deviation = l + 1 == layers.size() ? 0.01 : std::sqrt(4.0 / (layers[l].in + 1.0));
    for (size_t i = 0; i < layers[l].size(); ++i)
      start[layers[l].weight + i] = static_cast<float>(deviation * random.normal());
  }
  std::vector<float> values(data.rows);
  for (size_t p = 0; p < dimension(); ++p) {
    for (uint64_t i = 0; i < data.rows; ++i) values[i] = data.row(i)[shape_.order[p]];
    const std::vector<float> bias = head(p).start(values);
    std::ranges::copy(bias, start.begin() + static_cast<std::ptrdiff_t>(layers.back().bias + out_[p]));
  }
  set_theta(start);
}

bool Autoregressive::is_cut(size_t place, float x) const {
  const uint32_t j = shape_.order[place];
  return !shape_.lower.empty() && shape_.heads[j].kind == HeadKind::real &&
         !(x >= shape_.lower[j] && x <= shape_.upper[j]);
}

void Autoregressive::input(size_t place, float x, float* out) const {
  const uint32_t j = shape_.order[place];
  head(place).input(is_cut(place, x) ? (x < shape_.lower[j] ? shape_.lower[j] : shape_.upper[j]) : x, out);
}

std::vector<float> Autoregressive::features(const Points& x) const {
  std::vector<float> out(x.rows * inputs());
  for (uint64_t i = 0; i < x.rows; ++i)
    for (size_t p = 0; p < dimension(); ++p)
      input(p, x.row(i)[shape_.order[p]], out.data() + i * inputs() + in_[p]);
  return out;
}

void Autoregressive::add_direct(std::span<const float> x, std::span<float> t) const {
  // Dot products of single rows, so that a row's bits do not depend on the others.
  for (size_t i = 0; i * outputs() < t.size(); ++i)
    for (size_t p = 1; p < dimension(); ++p)
      for (size_t o = out_[p]; o < out_[p + 1]; ++o)
        t[i * outputs() + o] +=
            static_cast<float>(dot(x.data() + i * inputs(), direct_.data() + o * inputs(), in_[p]));
}

void Autoregressive::log_prob(const Points& x, std::span<double> out) const {
  std::vector<float> inside;
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < x.rows; ++i) {
    out[i] = -kInfinity;
    if (!contains(support_, x.row(i))) continue;
    rows.push_back(i);
    inside.insert(inside.end(), x.row(i).begin(), x.row(i).end());
  }
  const Points at{inside.data(), rows.size(), x.columns};
  const std::vector<float> feature = features(at);
  std::vector<float> t(at.rows * outputs());
  evaluate<float>(network_, Points{feature.data(), at.rows, static_cast<uint32_t>(inputs())}, t);
  add_direct(feature, t);
  for (uint64_t i = 0; i < at.rows; ++i) {
    double sum = 0;
    for (size_t p = 0; p < dimension(); ++p)
      sum += head(p).log_prob(t.data() + i * outputs() + out_[p], at.row(i)[shape_.order[p]], nullptr);
    out[rows[i]] = sum;
  }
}

double Autoregressive::add_gradient(const Points& x, std::span<float> gradient,
                                    const Dropout& dropout) const {
  std::vector<float> feature = features(x);
  RandomStream random(dropout.seed);
  for (uint64_t i = 0; dropout.chance > 0 && i < x.rows; ++i)
    for (size_t p = 0; p < dimension(); ++p) {
      const bool is_dropped = random.uniform() < dropout.chance;
      const auto factor = static_cast<float>(is_dropped ? 0 : 1 / (1 - dropout.chance));
      for (size_t f = in_[p]; f < in_[p + 1]; ++f) feature[i * inputs() + f] *= factor;
    }
  NetworkPass<float> pass(network_);
  const auto forward = pass.forward(Points{feature.data(), x.rows, static_cast<uint32_t>(inputs())});
  std::vector<float> t(forward.begin(), forward.end());
  add_direct(feature, t);
  std::vector<float> d(t.size());
  const double mean = ordered_sum(x.rows, kHeadRows,
                                  [&](size_t begin, size_t end) {
                                    double sum = 0;
                                    for (size_t i = begin; i < end; ++i)
                                      for (size_t p = 0; p < dimension(); ++p) {
                                        const size_t place = i * outputs() + out_[p];
                                        sum += head(p).log_prob(t.data() + place, x.row(i)[shape_.order[p]],
                                                                d.data() + place);
                                      }
                                    return sum;
                                  }) /
                      static_cast<double>(x.rows);
  for (float& v : d) v /= static_cast<float>(x.rows);
  const size_t n = network_.theta.size();
  pass.backward(d, gradient.first(n), {});
  if (inputs() > 0)
    gemm_transposed(outputs(), inputs(), x.rows, d.data(), outputs(), feature.data(), inputs(),
                    gradient.data() + n, inputs());
  return mean;
}

void Autoregressive::log_prob_gradient(const Points& x, std::span<double> log_q,
                                       std::span<double> gradient) const {
  const std::vector<float> feature = features(x);
  NetworkPass<float> pass(network_);
  const auto forward = pass.forward(Points{feature.data(), x.rows, static_cast<uint32_t>(inputs())});
  std::vector<float> t(forward.begin(), forward.end()), d(t.size()), dx(feature.size()),
      unused(network_.theta.size());
  add_direct(feature, t);
  std::fill(log_q.begin(), log_q.end(), 0.0);
  for (uint64_t i = 0; i < x.rows; ++i)
    for (size_t p = 0; p < dimension(); ++p) {
      const size_t place = i * outputs() + out_[p];
      const uint32_t j = shape_.order[p];
      log_q[i] +=
          head(p).log_prob(t.data() + place, x.row(i)[j], d.data() + place, &gradient[i * dimension() + j]);
    }
  pass.backward(d, unused, dx);
  gemm(x.rows, inputs(), outputs(), d.data(), outputs(), direct_.data(), inputs(), 1.0f, dx.data(), inputs());
  for (uint64_t i = 0; i < x.rows; ++i) {
    if (!contains(support_, x.row(i))) {
      log_q[i] = -kInfinity;
      std::fill_n(gradient.begin() + static_cast<std::ptrdiff_t>(i * dimension()), dimension(), 0.0);
      continue;
    }
    for (size_t p = 0; p < dimension(); ++p) {
      float slope[2] = {0, 0};
      const uint32_t j = shape_.order[p];
      if (is_cut(p, x.row(i)[j])) continue;
      head(p).input_slope(x.row(i)[j], slope);
      for (size_t f = 0; f < head(p).inputs(); ++f)
        gradient[i * dimension() + j] += static_cast<double>(slope[f] * dx[i * inputs() + in_[p] + f]);
    }
  }
}

void Autoregressive::directional(const Points&, const Points&, std::span<double>, std::span<double>) const {
  throw_error(
      "an autoregressive proposal has no second derivatives, which sm and ssm need of what is tilted; use "
      "`proposal mixture`");
}

void Autoregressive::sample(RandomStream& random, std::span<float> rows) const {
  const size_t d = dimension(), n = rows.size() / d, hidden = shape_.widths.size();
  const auto& layers = network_.shape.layers;
  std::vector<float> x(n * inputs()), t;
  std::vector<std::vector<float>> h;
  for (const uint32_t width : shape_.widths) h.emplace_back(n * width);
  // to (n x stride, columns [begin, end)) <- bias + a W', of the first k columns of a.
  const auto product = [&](const NetworkLayer& layer, size_t begin, size_t end, const float* a, size_t k,
                           float* to, size_t stride) {
    for (size_t i = 0; i < n; ++i)
      std::copy_n(network_.theta.data() + layer.bias + begin, end - begin, to + i * stride);
    if (k > 0 && end > begin)
      gemm_by_rows(n, end - begin, k, a, layer.in, network_.theta.data() + layer.weight + begin * layer.in,
                   layer.in, to, stride);
  };
  for (size_t p = 0; p < d; ++p) {
    for (size_t l = 0; l < hidden; ++l) {
      const size_t begin = p == 0 ? 0 : units_[l * d + p - 1], end = units_[l * d + p],
                   width = shape_.widths[l];
      if (begin == end) continue;
      float* own = h[l].data() + begin;
      product(layers[l], begin, end, l == 0 ? x.data() : h[l - 1].data(),
              l == 0 ? in_[p] : units_[(l - 1) * d + p], own, width);
      activate(kHidden, {n, end - begin, width}, own, own, nullptr);
    }
    const size_t count = out_[p + 1] - out_[p];
    t.resize(n * count);
    product(layers[hidden], out_[p], out_[p + 1], h.back().data(), units_[(hidden - 1) * d + p], t.data(),
            count);
    if (in_[p] > 0 && count > 0)
      gemm_by_rows(n, count, in_[p], x.data(), inputs(), direct_.data() + out_[p] * inputs(), inputs(),
                   t.data(), count);
    for (size_t i = 0; i < n; ++i) {
      const float value = head(p).draw(t.data() + i * count, random);
      rows[i * d + shape_.order[p]] = value;
      input(p, value, x.data() + i * inputs() + in_[p]);
    }
  }
}

DensityRecord Autoregressive::record() const {
  DensityRecord record{"autoregressive", {}};
  record.values["order"] = {shape_.order.begin(), shape_.order.end()};
  record.values["widths"] = {shape_.widths.begin(), shape_.widths.end()};
  for (const ConditionalHead& h : shape_.heads) {
    record.values["kind"].push_back(static_cast<double>(h.kind));
    record.values["count"].push_back(h.count);
  }
  if (!shape_.lower.empty()) {
    record.values["lower"] = {shape_.lower.begin(), shape_.lower.end()};
    record.values["upper"] = {shape_.upper.begin(), shape_.upper.end()};
  }
  const std::vector<float> all = theta();
  record.values["theta"] = {all.begin(), all.end()};
  return record;
}

std::unique_ptr<Density> restore_autoregressive(const DensityRecord& record, uint32_t dimension) {
  Autoregressive::Shape shape;
  const auto whole = [&](const char* name, size_t size, double least, double most) {
    std::vector<uint32_t> out;
    for (const double v : record_values(record, name, size)) {
      if (!(v >= least && v <= most && v == std::floor(v)))
        throw_error("the density 'autoregressive' has {} in {}; its file is damaged", v, name);
      out.push_back(static_cast<uint32_t>(v));
    }
    return out;
  };
  shape.order = whole("order", dimension, 0, dimension - 1);
  shape.widths = whole("widths", 0, 1, kMostWidth);
  const std::vector<uint32_t> kind = whole("kind", dimension, 0, 2),
                              count = whole("count", dimension, 1, kMostHeads);
  double outputs = 0;
  for (uint32_t j = 0; j < dimension; ++j) {
    shape.heads.push_back({static_cast<HeadKind>(kind[j]), count[j]});
    if (shape.heads[j].kind != HeadKind::levels && count[j] > ConditionalHead::kMostComponents)
      throw_error("the density 'autoregressive' has {} components; its file is damaged", count[j]);
    outputs += count[j];
  }
  if (record.values.contains("lower") || record.values.contains("upper")) {
    for (const double v : record_values(record, "lower", dimension))
      shape.lower.push_back(static_cast<float>(v));
    for (const double v : record_values(record, "upper", dimension))
      shape.upper.push_back(static_cast<float>(v));
  }
  const std::vector<double>& theta = record_values(record, "theta", 0);
  if (outputs > static_cast<double>(theta.size()) + dimension)  // before memory is allocated for them
    throw_error("the density 'autoregressive' has {} parameters for {} outputs; its file is damaged",
                theta.size(), outputs);
  auto out = std::make_unique<Autoregressive>(std::move(shape));
  record_values(record, "theta", out->parameters());
  std::vector<float> values(theta.begin(), theta.end());
  out->set_theta(values);
  return out;
}

}  // namespace selfnorm
