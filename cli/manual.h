// The manual page selfnorm(1) generated from the command table.
#pragma once

#include <string>

#include "command_table.h"

namespace selfnorm::cli {

std::string manual(const CommandTable& table, const std::string& version);

}  // namespace selfnorm::cli
