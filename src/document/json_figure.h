// A Figure as JSON, without its title (report/document.h says the keys).
#pragma once

#include <nlohmann/json.hpp>

#include "document/figure.h"
#include "document/json_place.h"

namespace selfnorm {

// Coordinates have seven significant digits.
nlohmann::ordered_json figure_json(const Figure& figure);
Figure read_figure(const JsonPlace& place);

}  // namespace selfnorm
