// Draws of a density beside the data.
#pragma once

#include "document/document.h"
#include "family/density/density_points.h"

namespace selfnorm {

// `samples`: histograms of data and samples for up to six columns, evenly spread (of five: four); levels:
// means of columns and of products of two, of samples against data.
ReportFigure samples_figure(const DensityModel& model, const DensityPoints& points);

}  // namespace selfnorm
