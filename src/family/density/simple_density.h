// The simple densities that a trained one has to beat (audit/simple_model.h).
#pragma once

#include <cstdint>
#include <span>

#include "audit/simple_model.h"
#include "data/points/point_source.h"
#include "model/energy/density_file.h"

namespace selfnorm {

// The best on the rows held out of: the proposal; a Gaussian mixture (real, up to 50 columns); a mixture of
// products of categoricals (levels). Both lists of rows are of `data` and not empty.
SimpleModel simple_density(const DensityModel& model, const PointSource& data,
                           std::span<const uint64_t> train_rows, std::span<const uint64_t> held_out,
                           uint64_t seed);

}  // namespace selfnorm
