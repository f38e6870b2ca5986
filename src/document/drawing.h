// Runs gnuplot as a child process.
#pragma once

#include <string>

#include "document/figure.h"

namespace selfnorm {

// Runs `gnuplot SCRIPT` in `folder`. Returns an empty text, or why there is no figure: gnuplot is missing
// (and how to install it), or what it complained about.
std::string run_gnuplot(const std::string& folder, const std::string& script);

// Writes NAME.gp into `folder`, which exists, and draws NAME.svg; an older one is removed. The result is that
// of run_gnuplot.
std::string draw_figure(const Figure& figure, const std::string& folder, const std::string& name);

}  // namespace selfnorm
