// Several documents as one: their cards in one table, their figures drawn into each other.
#pragma once

#include <vector>

#include "document/document.h"

namespace selfnorm {

// One document: itself. More: names made different, a table "Compared" with a row of cards each, the
// trade-off of rms log Z and exact NLL where two or more have both, and every figure with the series of all
// documents that have it ("NAME: SERIES", one colour a document; a series that is the same in all, such as a
// diagonal, once and grey). Panels with heat, or of different things, stand side by side in rows of at most
// four. Equal notes are one.
ReportDocument compared(std::vector<ReportDocument> documents);

}  // namespace selfnorm
