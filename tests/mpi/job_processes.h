// The processes of a job that a test started.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace selfnorm::cli {

// Those whose mpirun is `parent`.
inline std::vector<pid_t> children(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string number, name, state;
    pid_t its_parent = 0;
    if (file >> number >> name >> state >> its_parent && its_parent == parent && name == "(selfnorm)")
      out.push_back(std::stoi(number));
  }
  return out;
}

inline void wait_for(const std::function<bool()>& is_so) {
  for (int i = 0; i < 60'000 && !is_so(); ++i) usleep(1000);
}

}  // namespace selfnorm::cli
