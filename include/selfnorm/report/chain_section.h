// What is shown of a chain on labelled sentences: cards; the sections "Normalisation" (errors of raw
// log-probabilities of labellings; log Z a token against length) and "Spans" (precision and recall by type).
#pragma once

#include <string>
#include <vector>

#include "selfnorm/analysis/chain_evaluation.h"
#include "selfnorm/report/document.h"
#include "selfnorm/report/rows_part.h"

namespace selfnorm {

struct ShownChain {
  const ChainModel& model;
  const Sequences& data;
  const ChainEvaluation& evaluation;  // of the same
  std::string name;                   // of the data
  RowsPart part = RowsPart::kNone;
  std::vector<uint64_t> places = {};  // of the sentences in their file; empty: 0, 1, ...
};

void add_chain(const ShownChain& shown, ReportDocument& document);

}  // namespace selfnorm
