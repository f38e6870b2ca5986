#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/atomic_file.h"
#include "document/figure.h"

extern char** environ;

namespace selfnorm {
namespace {

constexpr size_t kLongestComplaint = 2000;

std::string drained(int descriptor) {
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t n = read(descriptor, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(piece.data(), static_cast<size_t>(n));
  }
}

std::string short_line(std::string text) {
  for (char& c : text) c = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text.substr(0, kLongestComplaint);
}

}  // namespace

std::string run_gnuplot(const std::string& folder, const std::string& script) {
  const std::string later = fmt::format("`cd {} && gnuplot {}` draws it later", folder, script);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fmt::format("gnuplot: {}", std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::string program = "gnuplot", argument = script;
  char* words[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int failure = posix_spawnp(&child, program.c_str(), &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failure != 0) {
    close(ends[0]);
    return fmt::format("gnuplot was not found ({}); install it with: apt-get install gnuplot-nox; {}",
                       std::strerror(failure), later);
  }
  const std::string complaint = short_line(drained(ends[0]));
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return fmt::format("gnuplot failed on {}: {}; {}", script, complaint, later);
}

std::string draw_figure(const Figure& figure, const std::string& folder, const std::string& name) {
  AtomicFile::write_file(folder + "/" + name + ".gp", gnuplot_script(figure, name + ".svg"));
  std::error_code ignored;
  std::filesystem::remove(folder + "/" + name + ".svg", ignored);  // an older figure would have other numbers
  return run_gnuplot(folder, name + ".gp");
}

}  // namespace selfnorm
