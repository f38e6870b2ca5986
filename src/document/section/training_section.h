// Curves of a run, from its metrics.jsonl, as far as they exist: loss, training_nll, penalty, regulariser,
// alpha (constraint: by solve), training_log_z, training_b, log_ratio, effective_samples.
#pragma once

#include <string>

#include "document/document.h"

namespace selfnorm {

// Appends the section "Training"; lines of more than 2,000 points are thinned, keeping the extremes. A last
// line cut short by a kill is left out; other lines that are no objects of numbers throw Error with file and
// line. What was not finite (null) interrupts its line, as does the next solve or member.
void add_training(const std::string& metrics_path, ReportDocument& document);

}  // namespace selfnorm
