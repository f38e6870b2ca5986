// What the classes of the public interface have in common.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "data/points/point_source.h"
#include "engine/engine.h"
#include "selfnorm/audit.h"
#include "selfnorm/rows.h"
#include "selfnorm/run.h"

namespace selfnorm {

struct Audit;

// Throws Error unless they are whole rows of finite numbers, at least one.
void check_rows(const Rows& x);
// As the same without `whole` numbers being looked at.
void check_shape(const Rows& x);
// Without a copy.
std::unique_ptr<PointSource> make_row_points(const Rows& x);
// The model of a run directory, or the file itself.
std::string model_file_of(const std::string& path);
// Who watches, or somebody who does not.
TrainObserver& observer_of(const Run& run);
// Throws Stopped for training that was interrupted, which has no model to give; warns of one that diverged.
void check_ending(const RunResult& result, const Run& run);
// Of so many rows, where nobody says otherwise `usual`. Throws Error for what is no share.
double hold_out_share(const Run& run, double usual);
// Of densities, CRFs and language models.
void refuse_weights(const Run& run);
AuditReport audit_report(const Audit& audit, bool is_amortised);

}  // namespace selfnorm
