#include "chain_evaluate.h"

#include "chain_model.h"
#include "chain_report.h"
#include "changed_options.h"
#include "output.h"

namespace selfnorm::cli {

int evaluate_chains(const Arguments& arguments) {
  const EvaluateArguments& given = arguments.evaluate;
  const std::string why = given.models[0] + " is a chain, to which it does not apply";
  for (const auto& options : {class_options(), density_options(), regressor_options()})
    refuse_options(arguments, options, why);
  refuse_options(arguments, {"--format", "--header"},
                 given.models[0] + " is a chain: DATA are read as those it was trained on");
  std::vector<ChainRow> rows;
  nlohmann::ordered_json reports = nlohmann::ordered_json::array();
  for (const std::string& name : given.models) {
    const auto [path, model] = open_chain(name);
    const Sequences data = read_sequences(given.data, model.encoder, true);
    rows.push_back({name, evaluate_chain(model, data, arguments.common.threads)});
    nlohmann::ordered_json report = chain_json(rows.back().evaluation);
    report["model"] = path;
    report["data"] = given.data;
    reports.push_back(std::move(report));
  }
  if (arguments.common.json) {
    print_json(reports.size() == 1 ? reports[0] : nlohmann::ordered_json{{"models", reports}});
    return 0;
  }
  print(chain_table(rows));
  if (rows.size() == 1) print(chain_details(rows[0].evaluation));
  return 0;
}

}  // namespace selfnorm::cli
