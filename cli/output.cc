#include "output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "interruption.h"
#include "selfnorm/error.h"

namespace selfnorm::cli {
namespace {

[[noreturn]] void fail_output() {
  if (errno == EPIPE) end_by_signal(SIGPIPE);
  throw Error(fmt::format("cannot write to standard output: {}",
                          errno == EBADF ? "it is closed" : std::strerror(errno)));
}

}  // namespace

void occupy_standard_descriptors() {
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};  // 0 and 1 the wrong way
  for (int i = STDIN_FILENO; i <= STDERR_FILENO; ++i)       // open() takes the lowest free number
    if (fcntl(i, F_GETFD) < 0) (void)open("/dev/null", kModes[i]);
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_output();
}

void print_json(const nlohmann::ordered_json& value) {
  print(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void flush_output() {
  if (std::fflush(stdout) != 0) fail_output();
}

void put_on_stderr(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

void note(const std::string& text) { put_on_stderr(text + "\n"); }

void warning(const std::string& text) { note("selfnorm: warning: " + text); }

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (size_t j = 0; j < row.size(); ++j) width[j] = std::max(width[j], row[j].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t j = 0; j < row.size(); ++j) {
      line += j == 0 ? fmt::format("{:<{}}", row[j], width[j]) : fmt::format("  {:>{}}", row[j], width[j]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string decimal(double value) { return std::isnan(value) ? "-" : fmt::format("{:.4f}", value); }

}  // namespace selfnorm::cli
