#include "base/near_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>

namespace selfnorm {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNames = 10'000;  // of a folder that are looked at

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// In order, so that the answer does not depend on that of the disk.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
    if (names.size() == kMostNames) break;
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::min(word.size(), word.size() / 3 + 2);  // another letter is no misspelling
  for (const std::string& candidate : candidates) {
    // The distance is at least the difference in length.
    if (std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size()) >= best_distance)
      continue;
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string missing_text(const std::string& path) {
  const fs::path whole(path), folder = whole.parent_path();
  std::error_code error;
  const fs::path start = fs::current_path(error);
  const std::string where =
      whole.is_absolute() || error ? "" : fmt::format("; the current folder is {}", start.string());
  if (!folder.empty() && !fs::is_directory(folder, error))
    return fmt::format("there is no folder {}; give the path of a file that exists{}", folder.string(),
                       where);
  const std::string near =
      nearest(whole.filename().string(), names_in(folder.empty() ? fs::path(".") : folder));
  if (!near.empty()) return fmt::format("there is no such file; did you mean {}?", (folder / near).string());
  return fmt::format("there is no such file; give the path of one that exists{}", where);
}

namespace {

struct FileStart {
  uint64_t line;
  std::string file;
  uint64_t line_of_file;
};
struct JoinedFiles {
  std::mutex guard;  // files are read ahead by a thread of their own
  std::map<std::string, std::vector<FileStart>> starts;
};
JoinedFiles& joined_files() {
  static JoinedFiles all;
  return all;
}

}  // namespace

void note_file_of(const std::string& name, uint64_t line, const std::string& file, uint64_t line_of_file) {
  JoinedFiles& all = joined_files();
  const std::lock_guard lock(all.guard);
  std::vector<FileStart>& starts = all.starts[name];
  if (line == 1) starts.clear();
  starts.push_back({line, file, line_of_file});
}

std::string place_text(const std::string& name, uint64_t line) {
  JoinedFiles& all = joined_files();
  const std::lock_guard lock(all.guard);
  const auto found = all.starts.find(name);
  if (found == all.starts.end()) return fmt::format("{}:{}", name, line);
  const std::vector<FileStart>& starts = found->second;
  size_t last = 0;
  while (last + 1 < starts.size() && starts[last + 1].line <= line) ++last;
  return fmt::format("{}:{}", starts[last].file, line - starts[last].line + starts[last].line_of_file);
}

}  // namespace selfnorm
