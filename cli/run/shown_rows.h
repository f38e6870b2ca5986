// The inputs that a report lists by number, as they are written in their file.
#pragma once

#include <string>

#include "document/document.h"
#include "grammar/arguments.h"

namespace selfnorm::cli {

// A further column of the table "worst": the row, the line, or the words of the sentence. Of language models,
// arrays and standard input, which have none, and where the file cannot be read again: nothing.
void show_worst_rows(const Arguments& arguments, const std::string& model, ReportDocument& document);

// Of the files that a path stands for; empty: of standard input, and where they cannot be read.
std::string hash_of_files(const std::string& path);

}  // namespace selfnorm::cli
