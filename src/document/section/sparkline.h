// A histogram in a line of text, for terminals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/error_audit.h"

namespace selfnorm {

enum class Glyphs { unicode, ascii };

// What the locale of LC_ALL, LC_CTYPE or LANG can show: unicode when its characters are UTF-8. Of a locale
// that is not installed here (a terminal elsewhere has it) the name decides, as in "de_DE.UTF-8".
Glyphs locale_glyphs();

// A mark a count, its height the share of the largest count: level ceil(L count / largest) of L = 8 (unicode)
// or 7 (ascii). Only 0 is shown as empty, by a dot in the middle (unicode) or a blank (ascii).
std::string sparkline(const std::vector<uint64_t>& counts, Glyphs glyphs);

// The bins between the ends of their range, and beneath them the place of 0 and [-band, band]:
//      -0.05 ▁▁▂▂▅▅██▅▅▂▂··▁▁ 0.11 and beyond
//              ├────0────┤        certified band
// "<" and ">" stand for what lies beyond the range. At most 80 bins are shown: of more, neighbours are added
// up. `bins` are neighbours, in order, at least one.
std::string histogram_lines(const std::vector<HistogramBin>& bins, std::optional<double> band, Glyphs glyphs);

}  // namespace selfnorm
