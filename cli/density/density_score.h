// `score` of densities: the log-density of every row.
#pragma once

#include "grammar/arguments.h"

namespace selfnorm::cli {

int score_points(const Arguments& arguments);

}  // namespace selfnorm::cli
