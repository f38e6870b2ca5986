// What classifiers and language models have to show of held-out data: the audit, and what a bound on log Z
// would cost.
#pragma once

#include <string>
#include <vector>

#include "data/example_source.h"
#include "document/section/audit_section.h"
#include "family/lm/lm_evaluation.h"
#include "grammar/arguments.h"
#include "model/model_file.h"

namespace selfnorm::cli {

// "penalty, 10 classes, 784 features".
std::string model_words(const ModelFile& model);
// Of what the norm is that pictures show.
std::string norm_words(const ModelFile& model);

// What `audit` found on `source`, and the trade-off of models without encoder on data with labels, or why
// there is none (audit/bounds/trade_off.h).
void add_model_audit(const Audit& audit, const AuditNames& names, const ModelFile& model,
                     const ExampleSource& source, ReportDocument& document);

// Inputs that the audit of a run looks at, evenly spread over all of them: what a few seconds allow, where an
// input takes so many multiplications.
std::vector<uint64_t> audited_rows(uint64_t inputs, double multiplications);

// A run that is finished, and the inputs that are shown of it.
struct ShownRun {
  const ModelFile& model;
  std::string file;  // of the model
  const RunArguments& given;
  RowsPart part;                      // of the inputs
  std::vector<uint64_t> places = {};  // of the inputs in their file; empty: 0, 1, ...
  std::string numbering = "numbered from 0";
};

// Audited on `source`, the inputs: rows of the model's features or states of its encoder, whose
// log-normalizers are computed for at most so many inputs as a few seconds allow.
void add_run(const ShownRun& run, const ExampleSource& source, ReportDocument& document);
// Without an audit, which reads the whole model.
void add_evaluated_run(const ShownRun& run, const Evaluation& evaluation, ReportDocument& document);
// Of a model whose probabilities sum to 1 as they are: how well it predicts the inputs.
void add_normalised_run(const ShownRun& run, const Evaluation& evaluation, ReportDocument& document);
void add_normalised_run(const ShownRun& run, const LanguageEvaluation& evaluation, ReportDocument& document);

}  // namespace selfnorm::cli
