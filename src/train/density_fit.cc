#include "density_fit.h"

#include <fmt/format.h>

#include "selfnorm/train/density_problem.h"
#include "selfnorm/train/density_record.h"

namespace selfnorm {

DensityResult fit_proposal_alone(const PointSource& data, std::span<const uint64_t> train_rows,
                                 const DensityOptions& options, TrainObserver& observer) {
  DensityProblem problem(data, train_rows, options);
  for (const std::string& text : problem.warnings()) observer.on_warning(text);
  DensityResult out;
  out.reason = fmt::format("fitted {}", problem.options().proposal);
  out.optimiser.clear();
  const std::string objective = density_objective_json(problem.options());
  const std::string training = density_training_json(problem.options(), out.reason, train_rows.size(), {});
  out.model = problem.release();
  out.model.normalizer_kind = "exact";
  out.model.objective_json = objective;
  out.model.training_json = training;
  return out;
}

}  // namespace selfnorm
