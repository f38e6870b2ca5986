// `launch -n 4 -- train ...`: mpirun, with what one machine needs of its options.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "base/failure.h"
#include "commands.h"

namespace selfnorm::cli {
namespace {

constexpr const char* kMpirunVariable = "SELFNORM_MPIRUN";
constexpr uint64_t kMostProcesses = 1024;

std::string own_path() {
  std::array<char, 4096> path{};
  if (readlink("/proc/self/exe", path.data(), path.size() - 1) < 0)
    throw_error("launch: the program's own path cannot be read: {}", std::strerror(errno));
  return path.data();
}

// What it says of itself; "" when it cannot be run.
std::string version_of(const std::string& mpirun) {
  std::string text;
  const std::unique_ptr<FILE, int (*)(FILE*)> out(popen((mpirun + " --version 2>&1").c_str(), "r"), pclose);
  std::array<char, 256> line{};
  while (out != nullptr && std::fgets(line.data(), line.size(), out.get()) != nullptr) text += line.data();
  return text;
}

}  // namespace

int launch_command(const Arguments& arguments) {
  const LaunchArguments& given = arguments.launch;
  if (given.command.empty())
    throw Error("launch: expected a command, as in 'selfnorm launch -n 4 -- train classifier data.svm'");
  constexpr std::string_view kShared[] = {"train", "evaluate", "score", "audit"};
  if (std::ranges::find(kShared, given.command[0]) == std::end(kShared))
    throw_error("launch: found '{}', which is work of one process; expected train, evaluate, score or audit",
                given.command[0]);
  const uint64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const uint64_t processes = given.processes == 0 ? cores : given.processes;
  if (processes > kMostProcesses)
    throw_error("launch: found {} processes; expected 1 to {}", processes, kMostProcesses);

  std::vector<std::string> words;
  if (processes > 1) {
    const char* set = std::getenv(kMpirunVariable);
    const std::string mpirun = set != nullptr && *set != '\0' ? set : "mpirun", version = version_of(mpirun);
    const bool is_open = version.find("Open MPI") != std::string::npos;
    if (!is_open && version.find("HYDRA") == std::string::npos)
      throw_error(
          "launch: '{}' is not the mpirun of Open MPI or MPICH (Debian: openmpi-bin); install one, or set {} "
          "to its path",
          mpirun, kMpirunVariable);
    words = {mpirun, "-n", std::to_string(processes)};
    if (is_open) words.insert(words.end(), {"--oversubscribe", "--bind-to", "none"});
    if (is_open && geteuid() == 0) words.emplace_back("--allow-run-as-root");
    // From Ctrl-C to the end of those that still write a checkpoint; Open MPI waits as long at every end that
    // is not a good one.
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "10", 0);
  }
  words.push_back(own_path());
  words.insert(words.end(), given.command.begin(), given.command.end());
  if (std::ranges::none_of(words, [](const std::string& word) {
        return word == "--threads" || word.starts_with("--threads=");
      }))
    words.insert(words.end(), {"--threads", std::to_string(std::max<uint64_t>(1, cores / processes))});
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  throw_error("launch: cannot start {}: {}", words[0], std::strerror(errno));
}

}  // namespace selfnorm::cli
