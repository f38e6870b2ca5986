// What classifiers and language models have to show of held-out data: the audit, and what a bound on log Z
// would cost.
#pragma once

#include <string>

#include "arguments.h"
#include "run_directory.h"
#include "selfnorm/data/example_source.h"
#include "selfnorm/model/model_file.h"
#include "selfnorm/report/audit_section.h"

namespace selfnorm::cli {

// "penalty, 10 classes, 784 features".
std::string model_words(const ModelFile& model);
// Of what the norm is that pictures show.
std::string norm_words(const ModelFile& model);

// What `audit` found on `source`, and the trade-off where there is a curve (analysis/trade_off.h).
void add_model_audit(const Audit& audit, const AuditNames& names, const ModelFile& model,
                     const ExampleSource& source, ReportDocument& document);

// Of a run, audited on `source`: rows of the model's features or states of its encoder, whose log-normalizers
// are computed for at most so many inputs as a few seconds allow; held out, or the training data.
ReportDocument run_document(const Arguments& arguments, const RunDirectory& run, const ModelFile& model,
                            const ExampleSource& source, bool is_held_out);
// Of a run whose probabilities sum to 1 as they are: nothing but its curves.
ReportDocument plain_run_document(const Arguments& arguments, const RunDirectory& run,
                                  const ModelFile& model);

}  // namespace selfnorm::cli
