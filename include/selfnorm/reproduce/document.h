// docs/reproduction.md, written from the records alone: no times, no machine, four significant digits, so
// that the same command gives the same text.
#pragma once

#include <string>
#include <vector>

#include "selfnorm/reproduce/record.h"

namespace selfnorm {

// "## fig1a: ..." with figure, settings, tables, what the paper says and what was measured. `figures` is the
// folder of the figures as seen from the document.
std::string document_section(const Record& record, const std::string& figures);

std::string document_text(const std::vector<Record>& records, const std::string& figures);

}  // namespace selfnorm
