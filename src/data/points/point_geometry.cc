#include "data/points/point_geometry.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "base/failure.h"

namespace selfnorm {
namespace {

constexpr double kFullTurn = 2 * std::numbers::pi, kDegree = std::numbers::pi / 180;
constexpr double kVectorError = 1e-3;
constexpr uint64_t kGeometryBlock = 8192;
constexpr const char* kSphereNames[] = {"none", "degrees", "radians", "vectors"};

std::string small_letters(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The largest magnitude of every column.
std::vector<double> column_magnitudes(const PointSource& data) {
  std::vector<double> out(data.columns());
  std::vector<uint64_t> rows;
  std::vector<float> x;
  for (uint64_t first = 0; first < data.rows(); first += kGeometryBlock) {
    rows.resize(std::min(kGeometryBlock, data.rows() - first));
    std::iota(rows.begin(), rows.end(), first);
    x.resize(rows.size() * data.columns());
    data.read(rows, x);
    for (size_t i = 0; i < x.size(); ++i)
      out[i % out.size()] = std::max(out[i % out.size()], std::abs(static_cast<double>(x[i])));
  }
  return out;
}

float within_period(double x, double period) {
  const double out = x - period * std::floor(x / period + 0.5);
  return static_cast<float>(std::clamp(out, -period / 2, period / 2));
}

class DirectedPoints final : public PointSource {
 public:
  DirectedPoints(std::unique_ptr<PointSource> data, PointGeometry geometry)
      : data_(std::move(data)), geometry_(std::move(geometry)) {
    if (geometry_.sphere == PointGeometry::Sphere::none) names_ = data_->names();
  }

  uint64_t rows() const override { return data_->rows(); }
  uint32_t columns() const override {
    return geometry_.sphere == PointGeometry::Sphere::none ? data_->columns() : 2;
  }
  const std::vector<std::string>& names() const override { return names_; }
  const Categories& categories() const override { return data_->categories(); }
  uint64_t number(uint64_t row) const override { return data_->number(row); }
  std::span<const IntervalCell> intervals(uint64_t row) const override { return data_->intervals(row); }
  bool has_intervals() const override { return data_->has_intervals(); }
  void read(std::span<const uint64_t> rows, std::span<float> out) const override {
    const uint32_t from = data_->columns(), to = columns();
    std::vector<float> x(rows.size() * from);
    data_->read(rows, x);
    for (size_t i = 0; i < rows.size(); ++i) {
      try {
        geometry_.inward(std::span(x).subspan(i * from, from), out.data() + i * to);
      } catch (const Error& error) {
        throw_error("row {} (from 0): {}", number(rows[i]), error.what());
      }
    }
  }
  std::string fingerprint() const override { return data_->fingerprint() + geometry_.json(); }

 private:
  std::unique_ptr<PointSource> data_;
  PointGeometry geometry_;
  std::vector<std::string> names_;
};

}  // namespace

void PointGeometry::inward(std::span<const float> row, float* out) const {
  if (sphere == Sphere::none) {
    for (size_t j = 0; j < row.size(); ++j)
      out[j] =
          period.empty() || period[j] == 0 ? row[j] : within_period(static_cast<double>(row[j]), period[j]);
    return;
  }
  if (sphere == Sphere::vectors) {
    const double x = row[0], y = row[1], z = row[2], length = std::sqrt(x * x + y * y + z * z);
    if (!(std::abs(length - 1) < kVectorError))
      throw_error("a vector of length {}; expected unit vectors", length);
    out[0] = static_cast<float>(std::atan2(y, x));
    out[1] = static_cast<float>(std::clamp(z / length, -1.0, 1.0));
    return;
  }
  const double unit = sphere == Sphere::degrees ? kDegree : 1;
  const double latitude = unit * static_cast<double>(row[is_longitude_first ? 1 : 0]);
  if (!(std::abs(latitude) <= std::numbers::pi / 2 + 1e-6))
    throw_error("the latitude {}; expected at most a quarter of a turn from the equator", latitude / unit);
  out[0] = within_period(unit * static_cast<double>(row[is_longitude_first ? 0 : 1]), kFullTurn);
  out[1] = static_cast<float>(std::sin(latitude));
}

void PointGeometry::outward(std::span<const float> row, float* out) const {
  if (sphere == Sphere::none) {
    std::ranges::copy(row, out);
    return;
  }
  const double z = std::clamp(static_cast<double>(row[1]), -1.0, 1.0), l = row[0];
  if (sphere == Sphere::vectors) {
    out[0] = static_cast<float>(std::sqrt(1 - z * z) * std::cos(l));
    out[1] = static_cast<float>(std::sqrt(1 - z * z) * std::sin(l));
    out[2] = static_cast<float>(z);
    return;
  }
  const double unit = sphere == Sphere::degrees ? kDegree : 1;
  out[is_longitude_first ? 1 : 0] = static_cast<float>(std::asin(z) / unit);
  out[is_longitude_first ? 0 : 1] = static_cast<float>(l / unit);
}

std::string PointGeometry::json() const {
  nlohmann::json out = nlohmann::json::object();
  if (!period.empty()) out["period"] = period;
  if (sphere != Sphere::none) {
    out["sphere"] = kSphereNames[static_cast<size_t>(sphere)];
    if (is_longitude_first) out["longitude_first"] = true;
  }
  if (!categories.empty()) out["categories"] = categories;
  return out.dump();
}

PointGeometry PointGeometry::of_json(const std::string& text, uint32_t dimension) {
  PointGeometry out;
  try {
    const auto json = nlohmann::json::parse(text);
    if (json.contains("period")) out.period = json["period"].get<std::vector<double>>();
    if (json.contains("sphere")) {
      const std::string name = json["sphere"];
      const auto found = std::ranges::find(kSphereNames, name);
      if (found == std::end(kSphereNames)) throw_error("the sphere is in '{}'", name);
      out.sphere = static_cast<Sphere>(found - std::begin(kSphereNames));
    }
    out.is_longitude_first = json.value("longitude_first", false);
    if (json.contains("categories")) out.categories = json["categories"].get<Categories>();
  } catch (const nlohmann::json::exception& error) {
    throw_error("the geometry of the points is damaged: {}", error.what());
  }
  const bool is_good = (out.period.empty() || out.period.size() == dimension) &&
                       (out.sphere == Sphere::none || dimension == 2) &&
                       (out.categories.empty() || out.categories.size() == dimension) &&
                       std::ranges::all_of(out.period, [](double p) { return p >= 0 && p < 1e30; });
  if (!is_good) throw Error("the geometry of the points does not fit their columns");
  return out;
}

PointGeometry torus_geometry(const PointSource& data) {
  PointGeometry out;
  const std::vector<double> most = column_magnitudes(data);
  const bool is_radians = std::ranges::all_of(most, [](double m) { return m <= kFullTurn + 1e-3; });
  out.period.assign(data.columns(), is_radians ? kFullTurn : 360.0);
  for (size_t j = 0; j < most.size(); ++j)
    if (most[j] > 720)
      throw_error("`space torus`: column {} has the value {}; expected angles in degrees or radians", j,
                  most[j]);
  return out;
}

PointGeometry sphere_geometry(const PointSource& data) {
  PointGeometry out;
  out.names = data.names();
  if (data.columns() == 3) {
    out.sphere = PointGeometry::Sphere::vectors;
    return out;
  }
  if (data.columns() != 2)
    throw_error(
        "`space sphere`: found {} columns; expected latitude and longitude, or unit vectors of three numbers",
        data.columns());
  const std::vector<double> most = column_magnitudes(data);
  const double quarter = std::numbers::pi / 2 + 1e-3;
  const bool is_radians =
      std::min(most[0], most[1]) <= quarter && std::max(most[0], most[1]) <= kFullTurn + 1e-3;
  out.sphere = is_radians ? PointGeometry::Sphere::radians : PointGeometry::Sphere::degrees;
  const double pole = is_radians ? quarter : 90.001;
  const std::vector<std::string>& names = data.names();
  const bool is_named = names.size() == 2 && small_letters(names[0]).starts_with("lon");
  out.is_longitude_first = is_named || (most[0] > pole && most[1] <= pole);
  if (most[out.is_longitude_first ? 1 : 0] > pole)
    throw_error("`space sphere`: a latitude of {}; expected latitude and longitude in degrees or radians",
                most[out.is_longitude_first ? 1 : 0]);
  return out;
}

PointGeometry periodic_geometry(const PointSource& data, const std::vector<std::string>& words) {
  PointGeometry out;
  if (words.empty()) return out;
  out.period.assign(data.columns(), 0);
  for (const std::string& word : words) {
    const size_t sign = word.rfind('=');
    double period = 0;
    try {
      if (sign != std::string::npos) period = std::stod(word.substr(sign + 1));
    } catch (const std::exception&) {
      period = 0;
    }
    if (!(period > 0) || !std::isfinite(period))
      throw_error("`periodic '{}'`; expected COLUMN=PERIOD, as in angle=360", word);
    const std::string name = word.substr(0, sign);
    const std::vector<std::string>& names = data.names();
    size_t j = static_cast<size_t>(std::ranges::find(names, name) - names.begin());
    if (j == names.size()) {
      const bool is_number = !name.empty() && name.size() < 9 &&
                             std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
      j = is_number ? std::stoul(name) : data.columns();
    }
    if (j >= data.columns()) throw_error("`periodic '{}'`: there is no column '{}'", word, name);
    if (!data.categories().empty() && !data.categories()[j].empty())
      throw_error("`periodic '{}'`: column '{}' has words; expected numbers", word, name);
    out.period[j] = period;
  }
  return out;
}

std::unique_ptr<PointSource> directed_points(std::unique_ptr<PointSource> data,
                                             const PointGeometry& geometry) {
  if (!geometry.turns()) return data;
  for (uint64_t row = 0; data->has_intervals() && row < data->rows(); ++row)
    for (const IntervalCell& cell : data->intervals(row))
      if (geometry.sphere != PointGeometry::Sphere::none || geometry.period[cell.column] > 0)
        throw_error(
            "row {} (from 0): found {}..{} in a column of angles; expected a number: intervals of angles and "
            "on the sphere are not taken, leave such rows out",
            data->number(row), cell.low, cell.high);
  return std::make_unique<DirectedPoints>(std::move(data), geometry);
}

}  // namespace selfnorm
