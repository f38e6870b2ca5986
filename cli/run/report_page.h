// Pages and their data as files. What is not ours is not written over unless it was named.
#pragma once

#include <string>

#include "document/document.h"

namespace selfnorm::cli {

// Throw Error when there is a file that is not a page, or not the data of one.
void check_page_path(const std::string& path);
void check_document_path(const std::string& path);

void write_page(const std::string& path, const ReportDocument& document);

}  // namespace selfnorm::cli
