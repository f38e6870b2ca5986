// The page: one HTML file that holds the program of report/ (built by npm, embedded here), its style and the
// data of one document. It loads nothing, so it opens anywhere.
#pragma once

#include <string>

#include "document/document.h"

namespace selfnorm {

// The document's texts are data of the page, never markup: whatever they hold, nothing in them is executed.
std::string page_html(const ReportDocument& document, const std::string& version);

// Whether this file is a page of ours, or there is none: nothing else may be written over unasked.
bool is_page_or_absent(const std::string& path);

}  // namespace selfnorm
