// docs/{reproduction,density,regression,sequences}.md, written from the records alone, four significant
// digits; that of the papers has no times and no machine, so that the same command gives the same text.
#pragma once

#include <string>
#include <vector>

#include "experiments/record.h"

namespace selfnorm {

// "## fig1a: ..." with figure, settings, tables, what the paper says and what was measured. `figures` is the
// folder of the figures as seen from the document.
std::string document_section(const Record& record, const std::string& figures,
                             const std::string& group = "papers");

// What the symbols and numbers of a group are, without line breaks.
std::string group_notation(const std::string& group);

// With the introduction of the group.
std::string document_text(const std::string& group, const std::vector<Record>& records,
                          const std::string& figures);

}  // namespace selfnorm
