#include "output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "base/failure.h"
#include "base/grouped.h"
#include "grammar/arguments.h"
#include "interruption.h"

namespace selfnorm::cli {
namespace {

bool is_quiet = false;

[[noreturn]] void fail_output() {
  if (errno == EPIPE) end_by_signal(SIGPIPE);
  throw_error("cannot write to standard output: {}", errno == EBADF ? "it is closed" : std::strerror(errno));
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

void print_json(const Json& value) {
  print(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void put_out(const CommonArguments& common, const Json& json, const std::string& text) {
  if (common.json)
    print_json(json);
  else
    print(text);
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

void be_quiet(bool quiet) { is_quiet = quiet; }

void note(const std::string& text) {
  if (!is_quiet) put_on_stderr(text + "\n");
}

void warning(const std::string& text) { put_on_stderr("selfnorm: warning: " + text + "\n"); }

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> width;
  for (const auto& row : rows) {
    width.resize(std::max(width.size(), row.size()));
    for (size_t j = 0; j < row.size(); ++j) width[j] = std::max(width[j], row[j].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t j = 0; j < row.size(); ++j)
      line += j == 0 ? fmt::format("{:<{}}", row[j], width[j]) : fmt::format("  {:>{}}", row[j], width[j]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string grouped(uint64_t number) { return selfnorm::grouped(number); }

std::string decimal(double value) { return std::isnan(value) ? "-" : fmt::format("{:.4f}", value); }

std::string aligned_present(std::vector<std::vector<std::string>> rows) {
  for (size_t j = rows[0].size(); j-- > 0;) {
    const bool is_there =
        std::any_of(rows.begin() + 1, rows.end(), [j](const auto& row) { return !row[j].empty(); });
    for (auto& row : rows) {
      if (!is_there)
        row.erase(row.begin() + static_cast<ptrdiff_t>(j));
      else if (row[j].empty())
        row[j] = "-";
    }
  }
  return aligned(rows);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '\t' ? "\\t" : c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
  return out;
}

std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

RowSheet::RowSheet(bool json, std::string head, const Json& object, const std::string& list, Write write)
    : json_(json), head_(std::move(head)), write_(std::move(write)) {
  if (!json_) return;
  head_ = json_line(object);
  head_.back() = ',';
  head_ += fmt::format(" \"{}\": [", list);
}

void RowSheet::row(const std::vector<Field>& fields) {
  if (json_) {
    Json object;
    for (const auto& [name, value] : fields)
      if (!name.empty()) std::visit([&, key = name](const auto& v) { object[std::string(key)] = v; }, value);
    return put(json_line(object));
  }
  std::string line;
  for (const auto& [name, value] : fields) {
    if (!line.empty()) line += '\t';
    if (const auto* text = std::get_if<std::string_view>(&value))
      line += escaped(*text);
    else
      std::visit([&line](const auto& v) { fmt::format_to(std::back_inserter(line), "{}", v); }, value);
  }
  put(line);
}

void RowSheet::put(const std::string& text) {
  const bool is_first = !is_open_;
  open();
  write_(!json_ ? text + "\n" : (is_first ? "\n  " : ",\n  ") + text);
}

void RowSheet::finish() {
  open();
  if (json_) write_("\n]}\n");
}

void RowSheet::open() {
  if (is_open_) return;
  is_open_ = true;
  if (json_ || !head_.empty()) write_(json_ ? head_ : head_ + "\n");
}

}  // namespace selfnorm::cli
