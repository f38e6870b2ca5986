// `evaluate` of chains.
#pragma once

#include "arguments.h"

namespace selfnorm::cli {

int evaluate_chains(const Arguments& arguments);

}  // namespace selfnorm::cli
