// What reading and writing the file of a regressor (regressor.h) share.
//   metadata  format, format_version and family "regressor"; dimension d, components, least_scale,
//   broad_mean,
//             broad_scale: the shape of the mixture; base (proposal | broad), tail_weight; normalizer (how b
//             came about); ensemble M; encoder (JSON); member<m>.<network> and its settings
//             (model/stored_record.h); JSON: objective, training, audit
//   tensors   target.mean, target.scale F64 d; support.lower, support.upper F64 d (both or neither); targets;
//             member<m>.<network>.<name> F32, member<m>.<network>.module U8 (torchscript)
//   networks  features, mixture_head; with a tilt context, tilt and optionally normalizer, tilt_features
#pragma once

#include <string>
#include <string_view>

#include "selfnorm/model/regressor/regressor.h"

namespace selfnorm {

inline constexpr std::string_view kRegressorFamily = "regressor";
inline constexpr uint32_t kMostDimensions = 3, kMostComponents = 4096, kMostMembers = 1000;

// Sizes that fit each other, finite numbers, scales > 0, JSON: of models to save and of models just read.
// Throws Error.
void check_regressor(const Regressor& model, const std::string& file);

}  // namespace selfnorm
