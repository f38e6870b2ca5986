#include "run/picture.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "document/drawing.h"
#include "output.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {

std::vector<std::string> write_pictures(const std::vector<Picture>& pictures, const std::string& folder,
                                        const std::string& option, bool quiet) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    throw Error(fmt::format("{} {}: the folder cannot be created ({})", option, folder, failure.message()));
  std::vector<std::string> files;
  std::string problem;
  for (const Picture& picture : pictures) {
    const std::string base = folder + "/" + picture.name;
    AtomicFile data(base + ".csv");
    data.write(csv_text(picture.data));
    data.commit();
    files.push_back(base + ".csv");
    if (picture.figure.panels.empty()) continue;
    if (const std::string found = draw_figure(picture.figure, folder, picture.name); found.empty())
      files.push_back(base + ".svg");
    else
      problem = found;
  }
  if (!problem.empty() && !quiet) warning(problem);
  return files;
}

}  // namespace selfnorm::cli
