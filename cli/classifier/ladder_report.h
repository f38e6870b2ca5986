// A ladder of log-normalizers as options ask for it, as text, as JSON and on a page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "document/document.h"
#include "family/classifier/normalize/ladder_fit.h"
#include "grammar/arguments.h"
#include "run/progress_line.h"

namespace selfnorm::cli {

// The line shows what is being fitted, and has to outlive the options.
LadderOptions ladder_options(const LadderArguments& given, uint64_t seed, ProgressLine& line);

// A table, a row a rung, and what was chosen.
std::string ladder_text(const LadderFit& fit);
nlohmann::ordered_json ladder_report_json(const LadderFit& fit);
// The figure error_against_cost, a table and a card.
void add_ladder(const LadderFit& fit, ReportDocument& document);

}  // namespace selfnorm::cli
