// What the two halves of the file of a CRF share.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "selfnorm/model/crf/crf_model.h"

namespace selfnorm {

// In the order of SequenceFormat without `automatic`, which no model has.
inline constexpr std::array<std::string_view, 3> kSequenceFormats = {"columns", "conllu", "attributes"};

// Throws Error naming the file when the parts of a model do not fit each other or a number is not finite.
void check_crf(const CrfModel& model, const std::string& name);

}  // namespace selfnorm
