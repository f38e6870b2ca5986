#include "base/module_path.h"

#include <cstdlib>
#include <filesystem>

namespace selfnorm {

std::string module_path(const char* variable, const char* file) {
  namespace fs = std::filesystem;
  if (const char* path = std::getenv(variable); path != nullptr && *path != '\0') return path;
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const fs::path& folder : {program, program / ".." / "lib", fs::path(SELFNORM_LIBRARY)})
    if (fs::exists(folder / file, none)) return folder / file;
  return file;
}

}  // namespace selfnorm
