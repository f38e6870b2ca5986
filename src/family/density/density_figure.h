// A density of one or two columns beside the data and draws of it.
#pragma once

#include "document/document.h"
#include "family/density/density_points.h"

namespace selfnorm {

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

}  // namespace selfnorm
