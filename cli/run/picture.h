// Pictures that a command draws: NAME.svg, the program NAME.gp that draws it, and NAME.csv with its numbers.
#pragma once

#include <string>
#include <vector>

#include "document/picture.h"

namespace selfnorm::cli {

// Into `folder`, which is created; the paths of the data and of what was drawn. Warns, unless `quiet`, where
// gnuplot could not draw: data and programs are there then. `option` is named in errors.
std::vector<std::string> write_pictures(const std::vector<Picture>& pictures, const std::string& folder,
                                        const std::string& option, bool quiet);

}  // namespace selfnorm::cli
