// The gauge that costs nothing (theory.md 1.5), fitted to nine tenths of the rows and measured on the others.
#pragma once

#include <functional>

#include "audit/audit.h"
#include "audit/gauge.h"
#include "data/example_source.h"

namespace selfnorm {

struct LosslessHead {
  ModelFile model;
  LinearFit gauge;
  Audit before, after;  // on the rows held out
};

struct LosslessOptions {
  double hold_out = 0.1;
  uint64_t seed = 0;
  AuditOptions audit = {.with_v_star = false};
};

// `round`: what storing does to the numbers of the new model, before anything is measured.
LosslessHead normalise_lossless(const ModelFile& model, const ExampleSource& rows,
                                const std::function<void(ModelFile&)>& round,
                                const LosslessOptions& options = {});

}  // namespace selfnorm
