// From the words of a command line (and a config file, and the record of a run being resumed) to Arguments.
#pragma once

#include <string>
#include <vector>

#include "grammar/arguments.h"
#include "grammar/command_table.h"

namespace selfnorm::cli {

// Thrown for --help and --version: `text` goes to stdout and the program ends with success.
struct Reply {
  std::string text;
};

// Throws Error for anything that is not a valid command line.
Arguments parse(const std::vector<std::string>& words);

CommandTable command_table();
std::string help_text(const std::string& path);

// The first page of help, and the page of a topic of `selfnorm help`; empty where there is none.
std::string overview_text();
std::string topic_text(const std::string& name);

}  // namespace selfnorm::cli
