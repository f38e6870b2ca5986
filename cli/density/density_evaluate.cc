#include "density/density_evaluate.h"

#include <fmt/format.h>

#include "density/density_applicability.h"
#include "density/density_model.h"
#include "density/density_points.h"
#include "density/density_report.h"
#include "grammar/changed_options.h"
#include "math/parallel.h"
#include "output.h"

namespace selfnorm::cli {

int evaluate_densities(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  refuse_options(arguments, class_options(), given.models[0] + " is a density");
  arguments.log_z.validate();
  check_log_z_applicability(arguments);
  const ThreadLimit limit(arguments.common.threads);
  std::vector<DensityRow> rows;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (const std::string& name : given.models) {
    const auto [path, model] = open_density(name, arguments.common.code());
    const auto points = open_points_for(model, given.data, arguments);
    rows.push_back({name, evaluate_density(model, *points, arguments.log_z), normalizer_doubt(model)});
    const DensityEvaluation& evaluation = rows.back().evaluation;
    if (!arguments.common.quiet)
      for (const std::string& text : idle_log_z_options(arguments, evaluation.log_z.method))
        warning(fmt::format("{}: {}", name, text));
    nlohmann::ordered_json report = density_json(evaluation);
    report["normalizer"] = model.normalizer_kind;
    report["model"] = path;
    report["data"] = given.data;
    reports.push_back(std::move(report));
  }
  if (arguments.common.json)
    print_json(reports.size() == 1 ? reports[0] : nlohmann::ordered_json{{"models", reports}});
  else
    print(density_table(rows));
  return 0;
}

}  // namespace selfnorm::cli
