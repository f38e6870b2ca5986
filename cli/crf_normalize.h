// `normalize` of CRFs.
#pragma once

#include "arguments.h"

namespace selfnorm::cli {

int normalize_crf_command(const Arguments& arguments);

}  // namespace selfnorm::cli
