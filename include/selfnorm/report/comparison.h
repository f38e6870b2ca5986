// Several documents as one: their cards in one table, their figures drawn into each other.
#pragma once

#include <vector>

#include "selfnorm/report/document.h"

namespace selfnorm {

// One document: itself. More: names made different, a table "Compared" with a row of cards each, the
// trade-off of rms log Z and exact NLL where two or more have both, and every figure with the series of all
// documents that have it ("NAME: SERIES"; a series that is the same in all, such as a diagonal, once), panels
// with heat side by side.
ReportDocument compared(std::vector<ReportDocument> documents);

}  // namespace selfnorm
