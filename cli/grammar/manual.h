// The manual page selfnorm(1) and the reference page docs/reference.md, generated from the command table and
// the registry of objectives.
#pragma once

#include <string>

#include "grammar/command_table.h"

namespace selfnorm::cli {

std::string manual(const CommandTable& table, const std::string& version);
std::string reference(const CommandTable& table);  // Markdown

}  // namespace selfnorm::cli
