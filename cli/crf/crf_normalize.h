// `normalize` of CRFs.
#pragma once

#include "grammar/arguments.h"

namespace selfnorm::cli {

int normalize_crf_command(const Arguments& arguments);

}  // namespace selfnorm::cli
