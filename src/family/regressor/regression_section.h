// What is shown of a regressor on data: cards; the sections "Predictions" (fan; heat and profile along the
// column that tells most), "Calibration" (pit, coverage) and "Normalisation" (errors of log-densities with
// b(x); b against A).
#pragma once

#include <string>
#include <vector>

#include "document/document.h"
#include "document/section/audit_section.h"
#include "family/regressor/regression_evaluation.h"
#include "family/regressor/regression_pictures.h"

namespace selfnorm {

struct RegressionNames {
  std::string data;  // what the rows are
  RowsPart part = RowsPart::kNone;
  std::vector<uint64_t> places = {};  // of the rows evaluated in their file; empty: 0, 1, ...
};

// `rows` are those evaluated, or some of them. A picture that cannot be had is a note that says why.
void add_regression(const ShownRows& rows, const RegressionEvaluation& evaluation,
                    const RegressionNames& names, ReportDocument& document);

// Of inputs without targets; `rows` are those audited.
void add_regression_inputs(const ShownRows& rows, const NormalizerAudit& audit, const RegressionNames& names,
                           ReportDocument& document);

}  // namespace selfnorm
