// Shell completions generated from the command table.
#pragma once

#include <string>

#include "grammar/command_table.h"

namespace selfnorm::cli {

// `shell` is bash, zsh or fish.
std::string completions(const CommandTable& table, const std::string& shell);

}  // namespace selfnorm::cli
