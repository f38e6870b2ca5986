// What reading and writing the file of a density (density_file.h) share.
//   metadata  format, format_version and family "density"; features d; log_normalizer b (the shortest decimal
//             that is the same double), normalizer (how b came about); base (none | proposal | own:
//             base_kind); proposal (its kind); energy (its kind), energy_settings (JSON); JSON:
//             objective, training, audit
//   tensors   proposal.<name>, base.<name> F64; energy.<name> F32; module U8 (torchscript);
//             standardisation.mean, standardisation.scale F64 d (optional); feature_names (optional)
#pragma once

#include <string>
#include <string_view>

#include "selfnorm/model/energy/density_file.h"

namespace selfnorm {

inline constexpr std::string_view kDensityFamily = "density";
inline constexpr std::string_view kProposalTensors = "proposal.", kBaseTensors = "base.",
                                  kEnergyTensors = "energy.";

// Sizes, finite numbers, scales > 0, JSON: of models to save and of models just read. Throws Error.
void check_density(const DensityModel& model, const std::string& file);

}  // namespace selfnorm
