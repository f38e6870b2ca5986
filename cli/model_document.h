// What classifiers and language models have to show of held-out data: the audit, and what a bound on log Z
// would cost.
#pragma once

#include <string>

#include "arguments.h"
#include "run_directory.h"
#include "selfnorm/analysis/audit.h"
#include "selfnorm/data/example_source.h"
#include "selfnorm/model/model_file.h"
#include "selfnorm/report/document.h"

namespace selfnorm::cli {

// "penalty, 10 classes x 784 features".
std::string model_words(const ModelFile& model);

// Of a run, audited on `source`: rows of the model's features or states of its encoder, whose log-normalizers
// are computed for at most so many inputs as a few seconds allow. `data` says what they are.
ReportDocument run_document(const Arguments& arguments, const RunDirectory& run, const ModelFile& model,
                            const ExampleSource& source, const std::string& data);
// Of a run whose probabilities sum to 1 as they are: nothing but its curves.
ReportDocument plain_run_document(const Arguments& arguments, const RunDirectory& run,
                                  const ModelFile& model);

}  // namespace selfnorm::cli
