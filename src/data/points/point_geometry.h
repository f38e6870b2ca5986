// Points with angles, words or on the sphere, as users have them and as densities see them: angles within
// half a period of 0; points of the sphere, latitude and longitude or unit vectors, as (longitude in radians,
// sin latitude), whose area is that of the sphere.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/points/point_source.h"

namespace selfnorm {

struct PointGeometry {
  enum class Sphere { none, degrees, radians, vectors };

  std::vector<double> period;  // of every column, 0: none; empty: no column turns
  Sphere sphere = Sphere::none;
  bool is_longitude_first = false;  // degrees, radians
  Categories categories;            // words that levels stand for
  std::vector<std::string> names;   // on the sphere, of the columns of the data; the model file has them

  bool is_plain() const { return !turns() && categories.empty(); }
  bool turns() const { return !period.empty() || sphere != Sphere::none; }
  // Of the data, for a density of this dimension.
  uint32_t columns(uint32_t dimension) const { return sphere == Sphere::vectors ? 3 : dimension; }
  // As densities see a row, and back. Throws Error, which says what was expected, for one that is no point.
  void inward(std::span<const float> row, float* out) const;
  void outward(std::span<const float> row, float* out) const;

  std::string json() const;                                                   // "{}" when plain
  static PointGeometry of_json(const std::string& text, uint32_t dimension);  // throws Error
};

// Which unit the columns are in, from the rows of `data`: a period of 2 pi where all values of an angle are
// within 2 pi of 0, else 360; unit vectors where there are three columns, else latitude and longitude in
// radians or degrees, in the order that names or sizes tell. Throws Error for columns that cannot be it.
PointGeometry torus_geometry(const PointSource& data);
PointGeometry sphere_geometry(const PointSource& data);
// "COLUMN=360", by name or number from 0.
PointGeometry periodic_geometry(const PointSource& data, const std::vector<std::string>& words);

// Its rows as densities see them; the same source when nothing turns.
std::unique_ptr<PointSource> directed_points(std::unique_ptr<PointSource> data,
                                             const PointGeometry& geometry);

}  // namespace selfnorm
