#include <fmt/format.h>

#include "commands.h"
#include "document/comparison.h"
#include "document/source.h"
#include "output.h"
#include "run/report_page.h"

namespace selfnorm::cli {

int report_command(const Arguments& arguments) {
  const ReportArguments& given = arguments.report;
  const std::string out = given.out.empty() ? kReportPage : given.out;
  if (given.out.empty()) check_page_path(out);
  std::vector<ReportDocument> documents;
  for (const std::string& source : given.sources) documents.push_back(read_report(source));
  write_page(out, compared(std::move(documents)));
  if (arguments.common.json)
    print_json({{"page", out}, {"reports", given.sources.size()}});
  else if (!arguments.common.quiet)
    print(fmt::format("{}: open it in a browser\n", out));
  return 0;
}

}  // namespace selfnorm::cli
