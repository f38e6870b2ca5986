// Curves of a training run, from its metrics.jsonl: loss and likelihood, penalty apart, log Z, b, log r and
// effective samples, as far as they exist.
#pragma once

#include <string>

#include "selfnorm/report/document.h"

namespace selfnorm {

// Appends the section "Training"; lines of more than 2,000 points are thinned, keeping the extremes. A last
// line cut short by a kill is left out; other lines that are not JSON throw Error with file and line.
void add_training(const std::string& metrics_path, ReportDocument& document);

}  // namespace selfnorm
