// What classifiers and language models have to show of held-out data: the audit, and what a bound on log Z
// would cost.
#pragma once

#include <string>
#include <vector>

#include "grammar/arguments.h"
#include "run/run_directory.h"
#include "selfnorm/analysis/lm_evaluation.h"
#include "selfnorm/data/example_source.h"
#include "selfnorm/model/model_file.h"
#include "selfnorm/report/audit_section.h"
#include "selfnorm/train/trainer.h"

namespace selfnorm::cli {

// "penalty, 10 classes, 784 features".
std::string model_words(const ModelFile& model);
// Of what the norm is that pictures show.
std::string norm_words(const ModelFile& model);

// What `audit` found on `source`, and the trade-off of models without encoder on data with labels, or why
// there is none (analysis/trade_off.h).
void add_model_audit(const Audit& audit, const AuditNames& names, const ModelFile& model,
                     const ExampleSource& source, ReportDocument& document);

// A run that is finished, and the inputs that are shown of it.
struct FinishedRun {
  const Arguments& arguments;
  const RunDirectory& directory;
  const TrainResult& result;
  RowsPart part;                      // of the inputs
  std::vector<uint64_t> places = {};  // of the inputs in their file; empty: 0, 1, ...
  std::string numbering = "numbered from 0";
};

// Audited on `source`, the inputs: rows of the model's features or states of its encoder, whose
// log-normalizers are computed for at most so many inputs as a few seconds allow.
ReportDocument run_document(const FinishedRun& run, const ExampleSource& source);
// Of a model whose probabilities sum to 1 as they are: how well it predicts the inputs.
ReportDocument normalised_run_document(const FinishedRun& run, const Evaluation& evaluation);
ReportDocument normalised_run_document(const FinishedRun& run, const LanguageEvaluation& evaluation);

}  // namespace selfnorm::cli
