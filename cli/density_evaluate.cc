#include "density_evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "changed_options.h"
#include "density_applicability.h"
#include "density_model.h"
#include "density_points.h"
#include "density_report.h"
#include "model_header.h"
#include "output.h"
#include "selfnorm/base/error.h"
#include "selfnorm/math/parallel.h"

namespace selfnorm::cli {

bool are_densities(const std::vector<std::string>& models) {
  const auto count = std::count_if(models.begin(), models.end(), is_density);
  if (count == 0 || size_t(count) == models.size()) return count > 0;
  for (const std::string& name : models)
    if (const std::string path = finished_model_path(name); !std::filesystem::exists(path))
      throw Error(fmt::format("{}: no such file; expected a model or the directory of a run", path));
  throw Error(fmt::format("{} is a density and others are classifiers; evaluate them apart",
                          *std::find_if(models.begin(), models.end(), is_density)));
}

int evaluate_densities(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  refuse_options(arguments, class_options(), given.models[0] + " is a density");
  arguments.log_z.validate();
  check_log_z_applicability(arguments);
  const ThreadLimit limit(arguments.common.threads);
  std::vector<DensityRow> rows;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (const std::string& name : given.models) {
    const auto [path, model] = open_density(name);
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
