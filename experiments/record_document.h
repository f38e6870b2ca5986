// A record as a document of the page: everything that the section of docs/*.md says, and the facts.
#pragma once

#include <string>

#include "document/document.h"
#include "experiments/record.h"

namespace selfnorm {

// One section, "NAME: TITLE": the figures NAME and NAME-SUFFIX, and the tables NAME-words (what was expected,
// what was measured, how, and the notation of the group), NAME-table-1, ..., NAME-facts and NAME-settings.
// The first facts are the cards. Numbers that are not whole have five significant digits, heat three
// decimals.
ReportDocument record_document(const Record& record, const std::string& group = "papers");

}  // namespace selfnorm
