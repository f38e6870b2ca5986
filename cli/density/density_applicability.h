// Options of `train density` that do nothing with the rest of what was given: an error, or a
// warning where only the data or the model could tell.
#pragma once

#include <string>
#include <vector>

#include "grammar/arguments.h"
#include "model/energy/density_file.h"

namespace selfnorm::cli {

// Throws Error that names the option, what it belongs to and what was found.
void check_applicability(const Arguments& arguments);
// The same for options of steps when a family over so many columns is fitted without any
// (train/family_training.h).
void check_step_applicability(const Arguments& arguments, uint32_t columns);
// A sentence for every option that did nothing because of what the data are.
std::vector<std::string> idle_options(const Arguments& arguments, const DensityModel& model);

}  // namespace selfnorm::cli
