// Runs gnuplot as a child process.
#pragma once

#include <string>

namespace selfnorm {

// Runs `gnuplot SCRIPT` in `folder`. Returns an empty text, or why there is no figure: gnuplot is missing
// (and how to install it), or what it complained about.
std::string run_gnuplot(const std::string& folder, const std::string& script);

}  // namespace selfnorm
