// A folder of its own for a test, removed at the end.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace selfnorm {

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "selfnorm-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string path(const std::string& name) const { return *this / name; }
  std::string file(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::string path_;
};

}  // namespace selfnorm
