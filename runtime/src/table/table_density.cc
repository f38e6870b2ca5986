#include "table_density.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "selfnorm/runtime/log_sum_exp.h"
#include "table_network.h"

namespace selfnorm::runtime {
namespace {

std::span<const double> values_named(const LayoutReader& reader,
                                     const std::map<std::string, std::span<const double>>& values,
                                     const char* name, size_t size) {
  const auto found = values.find(name);
  if (found == values.end() || found->second.size() != size)
    reader.fail("the density has not " + std::to_string(size) + " numbers \"" + name + "\"");
  return found->second;
}

}  // namespace

TableDensity::TableDensity(const LayoutReader& reader, const std::string& key, const std::string& prefix,
                           uint32_t dimension)
    : dimension_(dimension) {
  Values values;
  for (const Tensor& tensor : reader.file.tensors)
    if (tensor.name.starts_with(prefix))
      values[tensor.name.substr(prefix.size())] =
          reader.tensor<double>(tensor.name, Dtype::F64, tensor.shape);
  const std::string kind(reader.metadata(key));
  if (kind != "stacked") {
    add(reader, kind, values, 0);
    return;
  }
  const std::span<const double> weight = values["weight"];
  for (size_t m = 0; m < weight.size(); ++m) {
    const std::string place = std::to_string(m) + ".";
    std::string own_kind;
    Values own;
    for (const auto& [name, numbers] : values) {
      const size_t dot = name.find('.', place.size());
      if (!name.starts_with(place) || dot == std::string::npos) continue;
      own_kind = name.substr(place.size(), dot - place.size());
      own[name.substr(dot + 1)] = numbers;
    }
    if (weight[m] > 0) add(reader, own_kind, own, std::log(weight[m]));
  }
}

double TableDensity::log_determinant(const LayoutReader& reader, std::span<const double> root) const {
  const bool is_full = root.size() != dimension_ || dimension_ == 1;
  double sum = 0;
  for (size_t i = 0; i < dimension_; ++i) {
    const double diagonal = root[is_full ? i * (i + 1) / 2 + i : i];
    if (!(diagonal > 0)) reader.fail("a covariance of the density is not positive");
    sum += std::log(diagonal);
  }
  return sum;
}

void TableDensity::add(const LayoutReader& reader, const std::string& kind, const Values& values,
                       double log_weight) {
  const size_t d = dimension_, full = d * (d + 1) / 2;
  const auto get = [&](const char* name, size_t size) { return values_named(reader, values, name, size); };
  const double volume = static_cast<double>(d) * kHalfLogTau;
  if (kind == "gaussian" || kind == "gaussian-diagonal") {
    const auto root = get("root", kind == "gaussian" ? full : d);
    normals_.push_back({log_weight + log_determinant(reader, root) - volume, 1, get("mean", d), root});
  } else if (kind == "mixture") {
    const size_t learned = values.contains("logit") ? values.at("logit").size() : 0;
    const auto logit = get("logit", learned);
    const double defensive = get("defensive", 1)[0];
    const size_t all = learned + (defensive > 0 ? 1 : 0);
    const auto mean = get("mean", all * d), root = get("root", all * full);
    LogSumExp total;
    for (const double a : logit) total.add(a);
    for (size_t k = 0; k < all; ++k) {
      const double share =
          k < learned ? logit[k] - total.value() + std::log1p(-defensive) : std::log(defensive);
      const auto own = root.subspan(k * full, full);
      normals_.push_back(
          {log_weight + share + log_determinant(reader, own) - volume, 1, mean.subspan(k * d, d), own});
    }
  } else if (kind == "kde") {
    const double bandwidth = get("bandwidth", 1)[0];
    const auto root = get("root", full);
    const size_t n = values.contains("centres") ? values.at("centres").size() / d : 0;
    const auto centres = get("centres", n * d);
    if (n == 0 || !(bandwidth > 0)) reader.fail("the kernels of the density are damaged");
    const double constant = log_weight + log_determinant(reader, root) - std::log(static_cast<double>(n)) -
                            volume - static_cast<double>(d) * std::log(bandwidth);
    for (size_t k = 0; k < n; ++k)
      normals_.push_back({constant, 1 / bandwidth, centres.subspan(k * d, d), root});
  } else if (kind == "student-t") {
    const double dof = get("dof", 1)[0], half = 0.5 * (dof + static_cast<double>(d));
    const auto root = get("root", full);
    const double constant = log_weight + log_determinant(reader, root) + std::lgamma(half) -
                            std::lgamma(0.5 * dof) -
                            0.5 * static_cast<double>(d) * std::log(dof * std::numbers::pi);
    students_.push_back({constant, dof, get("location", d), root});
  } else if (kind == "uniform") {
    boxes_.push_back({log_weight, get("lower", d), get("upper", d)});
  } else {
    reader.fail("the density is made of \"" + kind +
                "\", which the C runtime does not have; train with --proposal gaussian, mixture, kde, "
                "student-t or uniform");
  }
}

double TableDensity::square(std::span<const double> root, std::span<const double> mean,
                            const double* x) const {
  double sum = 0;
  if (root.size() == dimension_) {
    for (size_t i = 0; i < dimension_; ++i) {
      const double z = root[i] * (x[i] - mean[i]);
      sum += z * z;
    }
    return sum;
  }
  const double* w = root.data();
  for (size_t i = 0; i < dimension_; ++i) {
    double z = 0;
    for (size_t j = 0; j <= i; ++j) z += *w++ * (x[j] - mean[j]);
    sum += z * z;
  }
  return sum;
}

double TableDensity::log_prob(const double* x) const {
  if (dimension_ == 0) return 0;
  LogSumExp total;
  for (const Normal& n : normals_)
    total.add(n.constant - 0.5 * square(n.root, n.mean, x) * n.inverse_bandwidth * n.inverse_bandwidth);
  for (const StudentT& t : students_)
    total.add(t.constant - 0.5 * (t.dof + dimension_) * std::log1p(square(t.root, t.location, x) / t.dof));
  for (const Box& box : boxes_) {
    double log_q = box.log_weight;
    for (size_t j = 0; j < dimension_; ++j)
      log_q = x[j] >= box.lower[j] && x[j] <= box.upper[j] ? log_q - std::log(box.upper[j] - box.lower[j])
                                                           : -std::numeric_limits<double>::infinity();
    if (std::isfinite(log_q)) total.add(log_q);
  }
  return total.value();
}

}  // namespace selfnorm::runtime
