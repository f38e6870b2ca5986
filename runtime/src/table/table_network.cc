#include "table_network.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "json_value.h"

namespace selfnorm::runtime {
namespace {

constexpr uint32_t kMostUnits = 1 << 24;

// The largest singular value of W (out x in), by power iteration.
double largest_singular_value(std::span<const float> w, size_t out, size_t in) {
  std::vector<double> u(out), v(in);
  for (size_t o = 0; o < out; ++o) u[o] = 1 + 0.37 * std::sin(static_cast<double>(o) + 1);
  double sigma = 0;
  const auto normalise = [](std::vector<double>& x) {
    double norm = 0;
    for (const double value : x) norm += value * value;
    norm = std::sqrt(norm);
    for (double& value : x) value /= std::max(norm, 1e-12);
    return norm;
  };
  for (int i = 0; i < 1000; ++i) {
    std::fill(v.begin(), v.end(), 0.0);
    for (size_t o = 0; o < out; ++o)
      for (size_t j = 0; j < in; ++j) v[j] += u[o] * static_cast<double>(w[o * in + j]);
    normalise(v);
    for (size_t o = 0; o < out; ++o) {
      u[o] = 0;
      for (size_t j = 0; j < in; ++j) u[o] += static_cast<double>(w[o * in + j]) * v[j];
    }
    const double before = sigma;
    sigma = normalise(u);
    if (std::abs(sigma - before) <= 1e-12 * sigma) break;
  }
  return std::max(sigma, 1e-12);
}

void require_finite(const LayoutReader& reader, const std::string& name, std::span<const float> values) {
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
    reader.fail("tensor \"" + name + "\" holds numbers that are not finite");
}

}  // namespace

TableNetwork::TableNetwork(const LayoutReader& reader, const std::string& name) : exists_(true) {
  const std::string kind(reader.metadata(name)), where = reader.name + ": " + name;
  if (kind == "zero") {
    is_zero_ = true;
    return;
  }
  if (kind != "dense" && kind != "linear" && kind != "mlp")
    reader.fail("\"" + name + "\" is of kind \"" + kind +
                "\", which the C runtime does not have; use the program or the library");
  const JsonValue settings = parse_json(reader.metadata(name + "_settings"), where);
  inputs_ = settings.whole(kind == "mlp" ? "dimension" : "inputs", kMostUnits, where);
  if (kind != "mlp") levels_ = settings.wholes("levels", kMostUnits, where);
  if (kind == "linear") {
    is_linear_ = true;
    width_ = inputs_;
    for (size_t k = 0; k < levels_.size(); ++k) {
      embedding_.push_back(
          reader.tensor<float>(name + ".unseen" + std::to_string(k), Dtype::F32, {levels_[k] - 1}));
      width_ += levels_[k] - 1;
    }
    widest_ = width_;
    return;
  }
  const std::string function = settings.at("activation", JsonValue::Kind::text, where).text;
  constexpr std::array<std::string_view, 5> names = {"silu", "relu", "tanh", "softplus", "gelu"};
  const auto found = std::find(names.begin(), names.end(), function);
  if (found == names.end()) reader.fail("\"" + name + "\" has the activation \"" + function + "\"");
  function_ = static_cast<Function>(found - names.begin());
  bool activates_output = true;
  if (kind == "mlp") {
    is_residual_ = settings.at("residual", JsonValue::Kind::boolean, where).boolean;
    is_spectral_ = settings.at("spectral_norm", JsonValue::Kind::boolean, where).boolean;
    fourier_count_ = settings.whole("fourier", kMostUnits, where);
  } else {
    activates_output = settings.at("activates_output", JsonValue::Kind::boolean, where).boolean;
  }
  read_layers(reader, name, settings.wholes("widths", kMostUnits, where), activates_output);
  if (kind == "mlp") {
    output_ = reader.tensor<float>(name + ".output.weight", Dtype::F32, {width_});
    require_finite(reader, name + ".output.weight", output_);
  }
}

void TableNetwork::read_layers(const LayoutReader& reader, const std::string& name,
                               const std::vector<uint32_t>& widths, bool activates_output) {
  if (widths.empty()) reader.fail("\"" + name + "\" has no layers");
  const auto read = [&](const std::string& what, std::vector<uint64_t> shape) {
    const auto values = reader.tensor<float>(name + "." + what, Dtype::F32, std::move(shape));
    require_finite(reader, name + "." + what, values);
    return values;
  };
  if (fourier_count_ > 0) fourier_ = read("fourier.weight", {fourier_count_, inputs_});
  uint32_t in = inputs_ + 2 * fourier_count_;
  widest_ = in;
  for (size_t l = 0; l < widths.size(); ++l) {
    const std::string layer = "layer" + std::to_string(l);
    const uint32_t out = widths[l];
    layers_.push_back({in, out, l + 1 < widths.size() || activates_output, is_residual_ && l > 0 && in == out,
                       read(layer + ".weight", {out, in}), read(layer + ".bias", {out}), 1.0});
    if (is_spectral_) layers_.back().factor = 1 / largest_singular_value(layers_.back().weight, out, in);
    widest_ = std::max(widest_, out);
    in = out;
  }
  width_ = in;
  for (size_t k = 0; k < levels_.size(); ++k)
    embedding_.push_back(read("embedding" + std::to_string(k) + ".weight", {levels_[k], widths[0]}));
}

uint32_t TableNetwork::first_width() const { return layers_.empty() ? 0 : layers_[0].out; }

double TableNetwork::activated(double z) const {
  switch (function_) {
    case Function::silu:
      return z / (1 + std::exp(-z));
    case Function::relu:
      return std::max(z, 0.0);
    case Function::tanh:
      return std::tanh(z);
    case Function::softplus:
      return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)));
    case Function::gelu:
      return 0.5 * z * std::erfc(-z / std::numbers::sqrt2);
  }
  return z;
}

const double* TableNetwork::last_layer(const double* x, const uint32_t* level, const double* context,
                                       double* scratch) const {
  double *a = scratch, *next = scratch + widest_;
  std::copy_n(x, inputs_, a);
  for (uint32_t f = 0; f < fourier_count_; ++f) {
    double phase = 0;
    for (uint32_t j = 0; j < inputs_; ++j)
      phase += static_cast<double>(fourier_[size_t{f} * inputs_ + j]) * x[j];
    a[inputs_ + f] = std::cos(phase);
    a[inputs_ + fourier_count_ + f] = std::sin(phase);
  }
  for (const Layer& layer : layers_) {
    const bool is_first = &layer == layers_.data();
    for (uint32_t o = 0; o < layer.out; ++o) {
      const float* w = layer.weight.data() + size_t{o} * layer.in;
      double z = 0;
      for (uint32_t j = 0; j < layer.in; ++j) z += static_cast<double>(w[j]) * a[j];
      z = z * layer.factor + static_cast<double>(layer.bias[o]);
      if (is_first && context != nullptr) z += context[o];
      for (size_t k = 0; is_first && k < levels_.size(); ++k)
        z += static_cast<double>(embedding_[k][size_t{level[k]} * layer.out + o]);
      next[o] = (layer.is_residual ? a[o] : 0) + (layer.is_activated ? activated(z) : z);
    }
    std::swap(a, next);
  }
  return a;
}

void TableNetwork::run(const double* x, const uint32_t* level, const double* context, double* scratch,
                       double* out) const {
  if (!is_linear_) {
    std::copy_n(last_layer(x, level, context, scratch), width_, out);
    return;
  }
  out = std::copy_n(x, inputs_, out);
  for (size_t k = 0; k < levels_.size(); ++k) {
    const size_t n = levels_[k] - 1;
    for (size_t i = 0; i < n; ++i)
      *out++ = level[k] == 0 ? static_cast<double>(embedding_[k][i]) : level[k] == i + 1 ? 1.0 : 0.0;
  }
}

double TableNetwork::score(const double* x, const double* context, double* scratch) const {
  if (is_zero_) return 0;
  const double* a = last_layer(x, nullptr, context, scratch);
  double sum = 0;
  for (uint32_t o = 0; o < width_; ++o) sum += static_cast<double>(output_[o]) * a[o];
  return sum;
}

}  // namespace selfnorm::runtime
