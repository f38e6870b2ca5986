#include "run/report_page.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "page/page.h"
#include "selfnorm/error.h"
#include "version.h"

namespace selfnorm::cli {

void check_page_path(const std::string& path) {
  if (!is_page_or_absent(path))
    throw Error(fmt::format("{} is there and is not a page of selfnorm, so it is left as it is", path));
}

void check_document_path(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return;
  constexpr std::string_view beginning = "{\"format\":";
  std::string found(beginning.size(), '\0');
  in.read(found.data(), static_cast<std::streamsize>(found.size()));
  if (found != beginning)
    throw Error(fmt::format("{} is there and is not the data of a report, so it is left as it is", path));
}

void write_page(const std::string& path, const ReportDocument& document) {
  AtomicFile file(path);
  file.write(page_html(document, kVersion));
  file.commit();
}

}  // namespace selfnorm::cli
