// `evaluate` and `audit` of chains.
#pragma once

#include "arguments.h"

namespace selfnorm::cli {

int evaluate_chains(const Arguments& arguments);
// `options` with what --require says; the exit code is that of `audit`.
int audit_chain_command(const Arguments& arguments, AuditOptions options);

}  // namespace selfnorm::cli
