// `evaluate` and `audit` of CRFs.
#pragma once

#include "grammar/arguments.h"

namespace selfnorm::cli {

int evaluate_crfs(const Arguments& arguments);
// `options` with what --require says; the exit code is that of `audit`.
int audit_crf_command(const Arguments& arguments);

}  // namespace selfnorm::cli
