#include <fmt/format.h>

#include "commands.h"
#include "document/document.h"
#include "output.h"
#include "run/report_output.h"

namespace selfnorm::cli {

int report_command(const Arguments& arguments) {
  const ReportArguments& given = arguments.report;
  const std::string out = given.out.empty() ? kReportPage : given.out;
  if (given.out.empty()) check_page_path(out);
  std::vector<ReportDocument> documents;
  for (const std::string& source : given.sources) documents.push_back(read_report(source));
  write_page(out, compared(std::move(documents)));
  put_out(arguments.common, {{"page", out}, {"reports", given.sources.size()}},
          fmt::format("{}: open it in a browser\n", out));
  return 0;
}

}  // namespace selfnorm::cli
