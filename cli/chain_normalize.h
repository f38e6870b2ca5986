// `normalize` of chains.
#pragma once

#include "arguments.h"

namespace selfnorm::cli {

int normalize_chain_command(const Arguments& arguments);

}  // namespace selfnorm::cli
