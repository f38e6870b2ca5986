// `evaluate`, `audit` and `score` of regressors.
#pragma once

#include "grammar/arguments.h"

namespace selfnorm::cli {

int evaluate_regressors(const Arguments& arguments);
// `options` with what --require says; the exit code is that of `audit`.
int audit_regressor(const Arguments& arguments);
// log p(y|x) of every row.
int score_regressor(const Arguments& arguments);

}  // namespace selfnorm::cli
