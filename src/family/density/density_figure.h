// A density of one or two columns beside the data and draws of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/points/point_source.h"
#include "document/document.h"
#include "model/energy/density_file.h"

namespace selfnorm {

// The points that figures of a density show: rows of data and draws of the model.
struct DensityPoints {
  uint32_t columns = 0;
  std::vector<std::string> names;           // of the columns; x1, x2, ... where they have none
  std::vector<float> data;                  // at most 20,000 rows, evenly spread
  std::string data_name = "held-out data";  // or training data
  uint64_t completed = 0;      // rows with intervals among them, at draws of the proposal given what is known
  std::vector<float> samples;  // at most 500 rows; empty: none
  std::string quality;         // what the samples are and how good, or why there are none; part of a sentence
  bool is_trusted = true;

  std::vector<double> data_column(uint32_t j) const;
  std::vector<double> sample_column(uint32_t j) const;
  // At most `most` rows, evenly spread.
  std::vector<float> some_data(uint64_t most) const;
};

// Samples as `selfnorm sample` draws them (family/density/density_sample.h), with chains only where
// evaluations x evaluation_cost allows it.
DensityPoints density_points(const DensityModel& model, const PointSource& data, uint64_t seed);

// What densities are normalised with.
struct ShownNormalizer {
  double log_z = 0;
  std::string source;  // "log Z by quadrature": part of a sentence
};

// `density`: one column, p as a line over the histogram of the data (whole numbers: as marks); two columns of
// real numbers, p as heat, 96 x 96 cells, with data and samples over it.
bool has_density_figure(const DensityModel& model);
ReportFigure density_figure(const DensityModel& model, const ShownNormalizer& normalizer,
                            const DensityPoints& points);

// Draws of a density beside the data.

// `samples`: histograms of data and samples for up to six columns, evenly spread (of five: four); levels:
// means of columns and of products of two, of samples against data.
ReportFigure samples_figure(const DensityModel& model, const DensityPoints& points);

}  // namespace selfnorm
