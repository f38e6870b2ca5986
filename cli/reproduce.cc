#include <fmt/format.h>

#include "commands.h"
#include "experiments/reproduction.h"
#include "output.h"
#include "run/progress_line.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {

int reproduce_command(const Arguments& arguments) {
  ReproductionOptions given = arguments.reproduce;
  given.threads = arguments.common.threads;
  if (given.out.empty()) throw Error("reproduce needs --out DIR, the folder for its data and figures");
  ProgressLine line(arguments.common.quiet);  // the bar and its ETA go through all experiments
  const std::vector<Reproduced> done = reproduce(given, [&](double percent, const std::string& text) {
    line.show({.done = static_cast<uint64_t>(percent), .total = 100, .text = text});
  });
  line.finish();
  const std::string document = given.document_path();
  Json reports = Json::array();
  std::string text, problem;  // the first one stands for all: most likely there is no gnuplot
  for (const Reproduced& one : done) {
    const Record& record = one.record;
    if (problem.empty()) problem = one.problem;
    reports.push_back(one.json());
    text += fmt::format("{}: {} ({:.1f} s, {})\n  {} {}\n  measured: {}\n", record.name, record.title,
                        one.seconds, one.base + (one.problem.empty() ? ".svg" : ".csv"),
                        one.experiment->group == "papers" ? "paper:   " : "asked:   ", record.paper,
                        record.measured);
  }
  if (!problem.empty()) warning(problem);
  Json json = {{"experiments", std::move(reports)}};
  if (!document.empty()) {
    json["document"] = document;
    text += fmt::format("{}: all of it, to read\n", document);
  }
  put_out(arguments.common, json,
          text + fmt::format("selfnorm report {} draws all of it on one page\n", given.out));
  return 0;
}

}  // namespace selfnorm::cli
