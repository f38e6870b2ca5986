// Config files (TOML) and recorded options as words of a command line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "grammar/command_table.h"

namespace selfnorm::cli {

// {"alpha": 0.3, "quiet": true} -> "--alpha=0.3" "--quiet=true"; a positional becomes a plain word; "" and
// null are left out. Throws Error for a name the command does not have.
std::vector<std::string> option_words(const CommandRow& command, const nlohmann::ordered_json& options);

// Keys at the top of the file count when `command` has them; keys of a section [train.classifier] only for
// that command. Throws Error for a key or section that no command has.
std::vector<std::string> config_words(const CommandTable& table, const CommandRow& command,
                                      const std::string& path);
// The same of a file's text.
std::vector<std::string> config_words(const CommandTable& table, const CommandRow& command,
                                      const std::string& path, const std::string& text);

}  // namespace selfnorm::cli
