#include "data/points/point_geometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "data/points/direction_map.h"
#include "selfnorm/error.h"

namespace selfnorm {
namespace {

std::vector<float> seen_rows(std::unique_ptr<PointSource> source, const PointGeometry& geometry) {
  const auto points = directed_points(std::move(source), geometry);
  std::vector<uint64_t> rows(points->rows());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::vector<float> out(rows.size() * points->columns());
  points->read(rows, out);
  return out;
}

TEST(PointGeometry, AnglesComeWithinHalfAPeriod) {
  const auto degrees = make_point_source(2, {350, -190, 10, 180});
  const PointGeometry geometry = torus_geometry(*degrees);
  EXPECT_EQ(geometry.period, (std::vector<double>{360, 360}));
  const std::vector<float> seen = seen_rows(make_point_source(2, {350, -190, 10, 180}), geometry);
  EXPECT_FLOAT_EQ(seen[0], -10);
  EXPECT_FLOAT_EQ(seen[1], 170);
  EXPECT_FLOAT_EQ(seen[2], 10);
  EXPECT_FLOAT_EQ(std::abs(seen[3]), 180);
  EXPECT_NEAR(torus_geometry(*make_point_source(1, {3, -3, 6.2f})).period[0], 2 * std::numbers::pi, 1e-12);
  EXPECT_THROW(torus_geometry(*make_point_source(1, {3000})), Error);
}

TEST(PointGeometry, PeriodicColumnsByNameAndNumber) {
  const auto data = make_point_source(2, {1, 2, 3, 4}, {"speed", "direction"});
  EXPECT_EQ(periodic_geometry(*data, {"direction=24"}).period, (std::vector<double>{0, 24}));
  EXPECT_EQ(periodic_geometry(*data, {"0=7"}).period, (std::vector<double>{7, 0}));
  for (const char* word : {"direction", "direction=0", "wind=3", "2=1", "=4", "direction=x"})
    EXPECT_THROW(periodic_geometry(*data, {word}), Error) << word;
  EXPECT_TRUE(periodic_geometry(*data, {}).is_plain());
}

TEST(PointGeometry, PlacesOnTheSphereThereAndBack) {
  const std::vector<float> places{90, 0, -45, 170, 12.5f, -100, 0, 180};
  const PointGeometry degrees = sphere_geometry(*make_point_source(2, places));
  EXPECT_EQ(degrees.sphere, PointGeometry::Sphere::degrees);
  EXPECT_FALSE(degrees.is_longitude_first);
  const std::vector<float> seen = seen_rows(make_point_source(2, places), degrees);
  EXPECT_FLOAT_EQ(seen[1], 1);
  for (size_t i = 2; i < places.size(); i += 2) {
    float back[2];
    degrees.outward(std::span(seen).subspan(i, 2), back);
    EXPECT_NEAR(back[0], places[i], 1e-3);
    EXPECT_NEAR(std::abs(back[1]), std::abs(places[i + 1]), 1e-3);
  }
  EXPECT_TRUE(sphere_geometry(*make_point_source(2, {170, 20, -120, 80})).is_longitude_first);
  EXPECT_TRUE(sphere_geometry(*make_point_source(2, {17, 20, -12, 80}, {"Longitude", "Latitude"}))
                  .is_longitude_first);
  EXPECT_EQ(sphere_geometry(*make_point_source(2, {1, 2, -1.5f, 3})).sphere, PointGeometry::Sphere::radians);
  EXPECT_THROW(sphere_geometry(*make_point_source(2, {170, 120})), Error);
  EXPECT_THROW(sphere_geometry(*make_point_source(4, {1, 0, 0, 0})), Error);
}

TEST(PointGeometry, UnitVectors) {
  const PointGeometry vectors = sphere_geometry(*make_point_source(3, {0, 0.6f, -0.8f}));
  EXPECT_EQ(vectors.columns(2), 3u);
  const std::vector<float> seen = seen_rows(make_point_source(3, {0, 0.6f, -0.8f}), vectors);
  EXPECT_NEAR(seen[0], std::numbers::pi / 2, 1e-6);
  EXPECT_NEAR(seen[1], -0.8, 1e-6);
  float back[3];
  vectors.outward(seen, back);
  EXPECT_NEAR(back[1], 0.6, 1e-6);
  EXPECT_THROW(seen_rows(make_point_source(3, {1, 1, 0}), vectors), Error);
}

TEST(PointGeometry, JsonThereAndBack) {
  PointGeometry geometry;
  EXPECT_EQ(geometry.json(), "{}");
  geometry.period = {360, 0};
  EXPECT_EQ(PointGeometry::of_json(geometry.json(), 2).period, geometry.period);
  EXPECT_THROW(PointGeometry::of_json(geometry.json(), 3), Error);
  EXPECT_THROW(PointGeometry::of_json("{\"sphere\": \"miles\"}", 2), Error);
  EXPECT_THROW(PointGeometry::of_json("{\"period\": 3}", 2), Error);
}

// Derivatives by differences; the surface of the sphere has the area of its box.
TEST(DirectionMap, DerivativesAlongALine) {
  for (const DirectionMap& map : {DirectionMap::sphere(), DirectionMap::angles({true, false})}) {
    const float x[] = {0.5f, 0.25f}, v[] = {1, -0.5f};
    constexpr double h = 0x1p-8;
    std::vector<double> first(map.features()), second(map.features()), at(map.features()), up(map.features()),
        down(map.features());
    const auto moved = [&](double t, std::vector<double>& out) {
      const float y[] = {static_cast<float>(x[0] + t * v[0]), static_cast<float>(x[1] + t * v[1])};
      map.apply(y, out.data());
    };
    map.along(x, v, first.data(), second.data());
    moved(0, at);
    moved(h, up);
    moved(-h, down);
    for (size_t f = 0; f < map.features(); ++f) {
      EXPECT_NEAR(first[f], (up[f] - down[f]) / (2 * h), 1e-4);
      EXPECT_NEAR(second[f], (up[f] + down[f] - 2 * at[f]) / (h * h), 1e-3);
    }
    const std::vector<double> g{0.3, -0.7, 0.2};
    double dx[2], along = 0;
    map.pull_back(x, g.data(), dx);
    for (size_t f = 0; f < map.features(); ++f) along += g[f] * first[f];
    EXPECT_NEAR(dx[0] * v[0] + dx[1] * v[1], along, 1e-9);
    EXPECT_EQ(DirectionMap::of(map.support()).is_sphere(), map.is_sphere());
  }
}

TEST(PointGeometry, WordsAreStored) {
  PointGeometry geometry;
  geometry.categories = {{}, {"a", "b, \"c\""}};
  EXPECT_FALSE(geometry.is_plain());
  EXPECT_EQ(PointGeometry::of_json(geometry.json(), 2).categories, geometry.categories);
  EXPECT_THROW(PointGeometry::of_json(geometry.json(), 3), Error);
}

}  // namespace
}  // namespace selfnorm
